# Uses what pip has installed.
import oarlock, oarlock.command, subprocess
aead = oarlock.AESGCM(bytes(32))
assert aead.decrypt(bytes(12), aead.encrypt(bytes(12), b'message')) == b'message'
subprocess.run((oarlock.command.find_command(), '--version'), check=True)
listed = subprocess.run(('openssl', 'list', '-providers'), env=oarlock.environment(), capture_output=True, text=True)
assert 'oarlock' in listed.stdout, listed
