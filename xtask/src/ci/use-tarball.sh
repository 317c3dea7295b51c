# Uses the folder of the tarball, $1, from where it happens to be.
set -eu
prefix=$PWD/$1
test -s "$prefix/share/doc/oarlock/THIRD-PARTY-LICENSES.txt"
bash -n "$prefix/share/bash-completion/completions/oarlock"
man --warnings -l "$prefix/share/man/man1/oarlock.1" | grep -q 'EXIT STATUS'
grep -q "ExecStart=/usr/local/bin/oarlock " "$prefix/lib/systemd/system/oarlock-serve.service"
export PKG_CONFIG_PATH="$prefix/lib/pkgconfig"
example="$prefix/share/doc/oarlock/examples/c/seed.c"
cc -o seed "$example" $(pkg-config --cflags --libs oarlock)
LD_LIBRARY_PATH="$prefix/lib" ./seed | grep -q '^[0-9a-f]\{1598\}$'
cc -o seed "$example" $(pkg-config --cflags oarlock) -Wl,-Bstatic \
    $(pkg-config --static --libs oarlock | sed 's/-loarlock/& -Wl,-Bdynamic/')
./seed | grep -q '^[0-9a-f]\{1598\}$'
