import java.io.FileInputStream;
import java.security.*;
import java.security.cert.*;
import java.security.cert.Certificate;
import java.util.*;
import java.util.concurrent.*;

/** Signs with the one key of a token, in threads: CONFIGURATION PIN CERTIFICATE THREADS SECONDS. */
public class Sign {
    static final double WARM_UP_SECONDS = 1.5;
    /** Signatures of a thread that are verified at the end. */
    static final int VERIFIED = 64;

    public static void main(String[] arguments) throws Exception {
        Provider provider = Security.getProvider("SunPKCS11").configure(arguments[0]);
        char[] pin = arguments[1].isEmpty() ? null : arguments[1].toCharArray();
        KeyStore store = KeyStore.getInstance("PKCS11", provider);
        store.load(null, pin);
        Certificate certificate;
        try (FileInputStream file = new FileInputStream(arguments[2])) {
            certificate = CertificateFactory.getInstance("X.509").generateCertificate(file);
        }
        int threads = Integer.parseInt(arguments[3]);
        long seconds = (long) (Double.parseDouble(arguments[4]) * 1e9);

        PrivateKey key = null;
        for (String name : Collections.list(store.aliases())) {
            if (store.isKeyEntry(name)) key = (PrivateKey) store.getKey(name, null);
        }
        if (key == null) throw new Exception("the token shows no key");
        String algorithm = key.getAlgorithm().equals("RSA") ? "SHA256withRSA" : "SHA256withECDSA";
        long begins = System.nanoTime() + (long) (WARM_UP_SECONDS * 1e9), ends = begins + seconds;

        ExecutorService pool = Executors.newFixedThreadPool(threads);
        List<Future<Integer>> results = new ArrayList<>();
        for (int number = 0; number < threads; number++) {
            byte first = (byte) number;
            PrivateKey private_ = key;
            results.add(pool.submit(() -> {
                List<byte[]> messages = new ArrayList<>(), signatures = new ArrayList<>();
                int answered = 0;
                for (int round = 0; System.nanoTime() < ends; round++) {
                    byte[] message = java.nio.ByteBuffer.allocate(32).put(first).putInt(round).array();
                    // As a TLS server does for each handshake.
                    Signature signer = Signature.getInstance(algorithm, provider);
                    signer.initSign(private_);
                    signer.update(message);
                    byte[] signature = signer.sign();
                    long now = System.nanoTime();
                    if (now >= begins && now < ends) answered++;
                    if (signatures.size() < VERIFIED) {
                        messages.add(message);
                        signatures.add(signature);
                    }
                }
                for (int place = 0; place < signatures.size(); place++) {
                    Signature verifier = Signature.getInstance(algorithm);
                    verifier.initVerify(certificate);
                    verifier.update(messages.get(place));
                    if (!verifier.verify(signatures.get(place))) throw new Exception("a wrong signature");
                }
                return answered;
            }));
        }
        int answered = 0;
        for (Future<Integer> result : results) answered += result.get();
        pool.shutdown();
        System.out.println("{\"answered\": " + answered + ", \"seconds\": " + arguments[4] + "}");
    }
}
