# Makes the root that the tree of every package is a copy of: base.sh FOLDER
set -eu
base=$1
included=autodep8,autopkgtest,build-essential,ca-certificates,dbus,fakeroot,iproute2,libssl-dev,openssl,procps,python3-debian,sudo,systemd-container,systemd-sysv
sources=$(
    for kind in deb deb-src; do
        echo "$kind http://deb.debian.org/debian bookworm main"
        echo "$kind http://deb.debian.org/debian bookworm-updates main"
        echo "$kind http://deb.debian.org/debian-security bookworm-security main"
    done
)
rm -rf "$base" "$base.new"
# The lists stay, so that trees need no update of their own.
echo "$sources" | mmdebstrap --quiet --variant=important --include=$included --skip=cleanup/apt \
    --customize-hook='chroot "$1" useradd --create-home --shell /bin/bash tester' \
    --customize-hook='chroot "$1" systemd-machine-id-setup' \
    --customize-hook='mkdir "$1/packages" "$1/sources" "$1/tree"' \
    bookworm "$base.new" -
mv "$base.new" "$base"
