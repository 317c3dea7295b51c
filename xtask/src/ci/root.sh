# Installs a wheel into the user land of another distribution and uses it: root.sh SUITE WHEEL FOLDER, as root.
set -eu
suite=$1
wheel=$2
root=$3/$suite
if [ ! -d "$root" ]; then
    mmdebstrap --quiet --variant=minbase --include=python3,python3-venv,openssl,ca-certificates "$suite" "$root.new" \
        http://deb.debian.org/debian
    mv "$root.new" "$root"
fi
rm -rf "$root/env" "$root"/*.whl
cp "$wheel" "$root/"
name=$(basename "$wheel")
cat >"$root/use.sh" <<'END'
set -eu
python3 -m venv /env
/env/bin/pip install --quiet --no-index "/$1"
export PATH=/env/bin:$PATH
python --version
oarlock --version
python - <<'PYTHON'
import asyncio
import oarlock
from oarlock import aio

aead = oarlock.AESGCM(bytes(32))
data = bytes(3_000_000)
assert aead.decrypt(bytes(12), aead.encrypt(bytes(12), memoryview(data))) == data
sealed = oarlock.seal_many(aead, [b"one", None, b"three"])
assert oarlock.open_many(aead, sealed.values, nonces=sealed.nonces).values.to_pylist() == [b"one", None, b"three"]
key = oarlock.PrivateKey.generate("RSA")

async def main():
    return await asyncio.gather(*(aio.sign(key, b"message") for _ in range(20)))

for signature in asyncio.run(main()):
    key.public_key().verify(signature, b"message")
with oarlock.open("/x.age", "wb", passphrase="correct horse") as file:
    file.write(data)
with oarlock.open("/x.age", passphrase="correct horse") as file:
    assert file.read() == data
PYTHON
echo "plain" >/plain
oarlock keygen -o /key 2>/recipient
oarlock encrypt -r "$(grep -o 'age1[0-9a-z]*' /recipient)" -o /sealed /plain
oarlock decrypt -i /key -o - /sealed | cmp - /plain
rm -f /key /recipient /sealed /plain /x.age
case $(openssl version) in
    'OpenSSL 1'*) oarlock doctor >/doctor || true
        grep -q 'OpenSSL 3' /doctor ;;
    *) oarlock run -- openssl list -providers | grep -q oarlock ;;
esac
END
unshare --mount sh -c "mount -t proc proc '$root/proc' && mount -t devtmpfs dev '$root/dev' 2>/dev/null || mount --bind /dev '$root/dev'; exec chroot '$root' sh /use.sh '$name'"
