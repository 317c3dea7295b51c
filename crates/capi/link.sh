#!/bin/sh
# Links the shared library out of the static one, with the symbols and the version of oarlock.map and no others:
# link.sh STATIC_LIBRARY FOLDER makes FOLDER/liboarlock.so.1 and a link to it.
set -eu

static=$1
folder=$2
here=$(cd "$(dirname "$0")" && pwd)

# It stays where it was loaded (nodelete): threads of a pool may run its code after dlclose(3).
# CC may have arguments.
# shellcheck disable=SC2086
${CC:-cc} -shared -o "$folder/liboarlock.so.1" \
    -Wl,-soname,liboarlock.so.1 -Wl,--version-script="$here/oarlock.map" -Wl,--no-undefined-version \
    -Wl,-z,defs -Wl,-z,nodelete -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections \
    -Wl,--whole-archive "$static" -Wl,--no-whole-archive -lgcc_s -lrt -lpthread -lm -ldl -lc
ln -sf liboarlock.so.1 "$folder/liboarlock.so"
