# Uses every part of the installed package, from its root.
set -eu
gzip -dc usr/share/man/man1/oarlock.1.gz | grep -q 'EXIT STATUS'
bash -n usr/share/bash-completion/completions/oarlock
export PKG_CONFIG_PATH="$PWD/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$PWD"
cc -o seed usr/share/doc/oarlock/examples/c/seed.c $(pkg-config --cflags --libs oarlock)
LD_LIBRARY_PATH=usr/lib ./seed | grep -q '^[0-9a-f]\{1598\}$'
cc -o seed usr/share/doc/oarlock/examples/c/seed.c $(pkg-config --cflags oarlock) \
    -Wl,-Bstatic -Lusr/lib $(pkg-config --static --libs-only-l oarlock | sed 's/-loarlock/& -Wl,-Bdynamic/')
./seed | grep -q '^[0-9a-f]\{1598\}$'
gzip -dc usr/share/man/man3/oarlock_aead_open.3.gz | man --no-hyphenation --warnings -l - > page
grep -q OARLOCK_E_AUTHENTICATION page
rm seed page
