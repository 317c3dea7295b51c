# Encrypts a file with the installed command $1, finds the provider with it, and signs by the PKCS#11 module next to it.
set -eu
echo 'for one pair of eyes' >file
"$1" keygen -o key 2> recipient
"$1" encrypt -r "$(grep -o 'age1[0-9a-z]*' recipient)" file -o file.age
"$1" decrypt -i key file.age -o again
cmp file again
"$1" run -- openssl list -providers | grep -q oarlock
prefix=$(dirname "$(dirname "$1")")
mkdir keys
openssl genpkey -quiet -algorithm RSA -out keys/rsa.pem
printf '[[token]]\nlabel = "files"\nkeys = "%s/keys"\n' "$PWD" >pkcs11.toml
export OARLOCK_PKCS11_CONFIG=$PWD/pkcs11.toml
pkcs11-tool --module "$prefix/lib/oarlock/liboarlock_pkcs11.so" --sign --mechanism SHA256-RSA-PKCS \
    --label rsa --input-file file --output-file signature
openssl pkey -in keys/rsa.pem -pubout -out public
openssl dgst -sha256 -verify public -signature signature file
rm -r file file.age key again recipient keys pkcs11.toml signature public
