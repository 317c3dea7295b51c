//! Java's own provider of PKCS#11.

use std::fs;

use crate::common::{Home, module, succeeds};

#[test]
fn java_signs_and_decrypts_in_threads() {
    let home = Home::with(&["rsa", "p256", "p384"]);
    let config = format!(
        "name = oarlock\nlibrary = {}\nslotListIndex = 0\n",
        module().display()
    );
    fs::write(home.path().join("java.cfg"), config).unwrap();
    fs::write(home.path().join("Test.java"), TEST).unwrap();
    let mut java = home.program("java");
    let said = succeeds(java.args(["-XX:TieredStopAtLevel=1", "Test.java", "java.cfg"]));
    assert_eq!(said, "3 keys\n60 signatures\n");
}

const TEST: &str = r#"
import java.security.*;
import java.security.cert.Certificate;
import java.util.*;
import java.util.concurrent.*;
import javax.crypto.Cipher;

public class Test {
    public static void main(String[] arguments) throws Exception {
        Provider provider = Security.getProvider("SunPKCS11").configure(arguments[0]);
        KeyStore store = KeyStore.getInstance("PKCS11", provider);
        store.load(null, null);
        List<String> names = new ArrayList<>();
        for (String name : Collections.list(store.aliases())) {
            if (store.isKeyEntry(name)) names.add(name);
        }
        System.out.println(names.size() + " keys");
        ExecutorService threads = Executors.newFixedThreadPool(4);
        List<Future<Integer>> results = new ArrayList<>();
        for (int thread = 0; thread < 4; thread++) {
            results.add(threads.submit(() -> {
                int made = 0;
                for (int round = 0; round < 5; round++) {
                    for (String name : names) {
                        PrivateKey key = (PrivateKey) store.getKey(name, null);
                        Certificate certificate = store.getCertificate(name);
                        boolean isRsa = key.getAlgorithm().equals("RSA");
                        byte[] message = new byte[1000 * round];
                        Signature signer = Signature.getInstance(isRsa ? "SHA256withRSA" : "SHA256withECDSA", provider);
                        signer.initSign(key);
                        signer.update(message);
                        byte[] signature = signer.sign();
                        Signature verifier = Signature.getInstance(isRsa ? "SHA256withRSA" : "SHA256withECDSA");
                        verifier.initVerify(certificate);
                        verifier.update(message);
                        if (!verifier.verify(signature)) throw new Exception("wrong: " + name);
                        if (isRsa) {
                            Cipher cipher = Cipher.getInstance("RSA/ECB/PKCS1Padding");
                            cipher.init(Cipher.ENCRYPT_MODE, certificate.getPublicKey());
                            byte[] sealed = cipher.doFinal(new byte[] {1, 2, 3});
                            cipher = Cipher.getInstance("RSA/ECB/PKCS1Padding", provider);
                            cipher.init(Cipher.DECRYPT_MODE, key);
                            if (!Arrays.equals(cipher.doFinal(sealed), new byte[] {1, 2, 3})) throw new Exception("wrong message");
                        }
                        made++;
                    }
                }
                return made;
            }));
        }
        int made = 0;
        for (Future<Integer> result : results) made += result.get();
        threads.shutdown();
        System.out.println(made + " signatures");
    }
}
"#;
