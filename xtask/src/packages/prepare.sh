# Unpacks the source of a package into the tree that this runs in, and installs what its tests need:
# prepare.sh SOURCE SKIPPED EXTRA, where the last two are words, which may be none.
set -eu
source=$1 skipped=$2 extra=$3
export DEBIAN_FRONTEND=noninteractive
# Nothing starts before the tree boots.
printf '#!/bin/sh\nexit 101\n' >/usr/sbin/policy-rc.d
chmod +x /usr/sbin/policy-rc.d

mkdir -p "/sources/$source"
cd "/sources/$source"
# A mirror may lack files of the newest upload: then that of the release, then the part with the tests.
download() { apt-get source --quiet=2 --download-only --only-source "$@" "$source"; }
download || download --target-release bookworm || true
for dsc in $(ls -v -r -- *.dsc); do
    rm -rf /source
    if dpkg-source --no-check --extract "$dsc" /source >/dev/null 2>&1; then break; fi
done
if [ ! -e /source/debian/control ]; then
    rm -rf /source
    mkdir /source
    tar --extract --file "$(ls -v -- *.debian.tar.* | tail -n 1)" --directory /source
fi
if [ -e /packages/control ]; then
    mkdir -p /source/debian/tests
    cp /packages/control /source/debian/tests/control
fi
chown -R tester: /source

# The lists of dependencies as autopkgtest itself reads them.
python3 - "$skipped" >/packages/depends <<'P'
import contextlib, sys
sys.path.insert(0, '/usr/share/autopkgtest/lib')
import testdesc
ignored = ['isolation-container', 'isolation-machine', 'breaks-testbed', 'needs-internet']
with contextlib.redirect_stdout(sys.stderr):
    tests, _ = testdesc.parse_debian_source('/source', ['root-on-testbed'], 'amd64', ignore_restrictions=ignored)
wanted = [test for test in tests if test.name not in sys.argv[1].split()]
for test in wanted:
    print(', '.join(test.depends + test.synth_depends))
P
# All at once where they go together. What a test needs in place of another is downloaded, for autopkgtest to install.
install() { apt-get --quiet=2 --yes --no-install-recommends "$@" </dev/null; }
install satisfy "$(paste --serial --delimiters=, /packages/depends)" ||
    echo 'not together: each test gets what it needs when it begins'
while read -r depends; do
    install --download-only satisfy "$depends" || echo "not to be had: $depends"
done </packages/depends
if [ -n "$extra" ]; then
    # The words split on purpose.
    # shellcheck disable=SC2086
    install install $extra
fi
rm /usr/sbin/policy-rc.d

dpkg-parsechangelog --file /source/debian/changelog --show-field Version >/packages/source-version
dpkg-query --show --showformat '${source:Package} ${source:Version}\n' |
    awk -v source="$source" '$1 == source { print $2; exit }' >/packages/version
dpkg-query --show --showformat '${Version}\n' libssl3 >/packages/openssl

# Runs once when the tree boots, and halts it.
cat >/etc/systemd/system/suite.service <<'U'
[Unit]
Description=Tests of a package
After=multi-user.target
[Service]
Type=oneshot
Environment=HOME=/root
ExecStart=/bin/sh /packages/suite.sh
ExecStopPost=/bin/systemctl poweroff --force --force
U
mkdir -p /etc/systemd/system/default.target.wants
ln -s /etc/systemd/system/suite.service /etc/systemd/system/default.target.wants/suite.service
