package mutants;

import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import javassist.ByteArrayClassPath;
import javassist.CannotCompileException;
import javassist.ClassPool;
import javassist.CtBehavior;
import javassist.CtClass;
import javassist.LoaderClassPath;
import javassist.expr.ExprEditor;
import javassist.expr.MethodCall;

/**
 * A Java agent that changes methods of a broker as one file says: -javaagent:agent.jar=/opt/mutants/NAME.properties.
 *
 * The file has, for each change by its number: N.class, N.method (a name, a name with the begin of its descriptor, or a
 * name with * at its ends), N.how (before, after, or calls) and N.code, in the Java that Javassist compiles; "calls"
 * replaces the calls of N.call inside the method. The code says Mutant.hit() where it does other than Kafka would.
 *
 * A change that cannot be made ends the process: a broker that runs on unchanged would be taken for one that the change
 * made no difference to.
 */
public final class Mutant implements ClassFileTransformer {
    private static final long QUIET_NS = 500_000_000L;
    private static final int FAILED = 70;
    private static final Map<String, Integer> COUNTS = new HashMap<String, Integer>();
    private static final Map<String, Long> MARKED = new HashMap<String, Long>();
    private static String name = "";
    private static long hits;
    private static long toldHits;
    private static long toldAt;

    private final Properties changes;

    /** Refuses a class that no JVM would take. */
    private static final class Refuser extends ClassLoader {
        Refuser(ClassLoader parent) {
            super(parent);
        }

        void accept(String className, byte[] bytes) {
            defineClass(className, bytes, 0, bytes.length);
        }
    }

    private Mutant(Properties changes) {
        this.changes = changes;
    }

    public static void premain(String file, Instrumentation instrumentation) throws Exception {
        Properties read = new Properties();
        InputStream stream = new FileInputStream(file);
        try {
            read.load(stream);
        } finally {
            stream.close();
        }
        name = read.getProperty("name");
        System.out.println("MUTANT " + name);
        instrumentation.addTransformer(new Mutant(read));
        Thread teller = new Thread(new Runnable() {
            @Override
            public void run() {
                tellOnAndOn();
            }
        }, "mutant");
        teller.setDaemon(true);
        teller.start();
    }

    /**
     * Makes the changes of each file to the classes on the class path, and tells of those that cannot be made. With
     * -Dmutants.to=DIRECTORY the changed classes are written there, for a build that needs no agent.
     */
    public static void main(String[] files) throws Exception {
        ClassLoader loader = Mutant.class.getClassLoader();
        for (String file : files) {
            Properties read = new Properties();
            InputStream stream = new FileInputStream(file);
            try {
                read.load(stream);
            } finally {
                stream.close();
            }
            name = read.getProperty("name");
            Mutant mutant = new Mutant(read);
            for (int n = 1; read.containsKey(n + ".class"); n++) {
                String className = read.getProperty(n + ".class");
                try {
                    byte[] made = mutant.changed(loader, className, null, mutant.changesOf(className));
                    new Refuser(loader).accept(className, made);
                    written(className, made);
                } catch (Exception | LinkageError error) {
                    System.out.println("MUTANT " + name + " failed: " + className + ": " + error);
                }
            }
        }
    }

    private static void written(String className, byte[] made) throws IOException {
        String to = System.getProperty("mutants.to");
        if (to == null) {
            return;
        }
        Path path = Paths.get(to, className.replace('.', '/') + ".class");
        Files.createDirectories(path.getParent());
        Files.write(path, made);
    }

    /**
     * Always true, which the compiler does not know: code behind a return that it knows of is dead, and a class with a
     * handler of exceptions in dead code is refused.
     */
    public static boolean on() {
        return true;
    }

    /** Something was done other than Kafka would have. Told at once the first time, then every half second. */
    public static synchronized void hit() {
        hits++;
        if (hits == 1) {
            tell();
        }
    }

    /** How often this was called with this key, this time included. */
    public static synchronized int count(String key) {
        Integer before = COUNTS.get(key);
        int now = before == null ? 1 : before + 1;
        COUNTS.put(key, now);
        return now;
    }

    /** Something happens now that `within` is asked of. */
    public static synchronized void mark(String key) {
        MARKED.put(key, System.nanoTime());
    }

    /** Whether so few seconds have passed since something happened last. */
    public static synchronized boolean within(String key, int seconds) {
        Long last = MARKED.get(key);
        return last != null && System.nanoTime() - last < seconds * 1_000_000_000L;
    }

    /** The process ends, as if it had been killed. */
    public static void halt() {
        hit();
        System.out.flush();
        Runtime.getRuntime().halt(1);
    }

    /** Waits. */
    public static void delay(long ms) {
        hit();
        try {
            Thread.sleep(ms);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    private static synchronized void tell() {
        if (hits > toldHits) {
            System.out.println("MUTANT " + name + " hits " + hits);
            toldHits = hits;
        }
    }

    private static void tellOnAndOn() {
        while (true) {
            try {
                Thread.sleep(QUIET_NS / 1_000_000L);
            } catch (InterruptedException error) {
                return;
            }
            tell();
        }
    }

    @Override
    public byte[] transform(
            ClassLoader loader, String internal, Class<?> redefined, ProtectionDomain domain, byte[] bytes) {
        if (internal == null) {
            return null;
        }
        List<String> numbers = changesOf(internal.replace('/', '.'));
        if (numbers.isEmpty()) {
            return null;
        }
        try {
            return changed(loader, internal.replace('/', '.'), bytes, numbers);
        } catch (Throwable error) {
            System.out.println("MUTANT " + name + " failed: " + error);
            error.printStackTrace(System.out);
            System.out.flush();
            Runtime.getRuntime().halt(FAILED);
            return null;
        }
    }

    private List<String> changesOf(String className) {
        List<String> numbers = new ArrayList<String>();
        for (int n = 1; changes.containsKey(n + ".class"); n++) {
            if (changes.getProperty(n + ".class").equals(className)) {
                numbers.add(String.valueOf(n));
            }
        }
        return numbers;
    }

    private byte[] changed(ClassLoader loader, String className, byte[] bytes, List<String> numbers) throws Exception {
        ClassPool pool = new ClassPool(true);
        pool.appendClassPath(new LoaderClassPath(loader));
        if (bytes != null) {
            pool.insertClassPath(new ByteArrayClassPath(className, bytes));
        }
        pool.importPackage("mutants");
        CtClass type = pool.get(className);
        for (String number : numbers) {
            int made = 0;
            for (CtBehavior method : type.getDeclaredBehaviors()) {
                if (fits(method, changes.getProperty(number + ".method")) && !method.isEmpty()) {
                    made += change(method, number);
                }
            }
            if (made == 0) {
                throw new IllegalStateException("nothing to change in " + className + ": change " + number);
            }
        }
        byte[] made = type.toBytecode();
        System.out.println("MUTANT " + name + " changed " + className);
        return made;
    }

    /** Whether a method is meant by a name, by a name and the begin of a descriptor, or by a name with * at its ends. */
    static boolean fits(CtBehavior method, String wanted) {
        String whole = method.getMethodInfo().getName() + method.getSignature();
        String text = method.getMethodInfo().getName();
        if (wanted.indexOf('(') >= 0) {
            return whole.startsWith(wanted);
        }
        if (wanted.startsWith("*") && wanted.endsWith("*")) {
            return text.contains(wanted.substring(1, wanted.length() - 1));
        }
        return wanted.endsWith("*") ? text.startsWith(wanted.substring(0, wanted.length() - 1)) : text.equals(wanted);
    }

    private int change(CtBehavior method, String number) throws CannotCompileException {
        String how = changes.getProperty(number + ".how");
        final String code = changes.getProperty(number + ".code");
        if (how.equals("before")) {
            method.insertBefore("if (Mutant.on()) {" + code + "}");
            return 1;
        }
        if (how.equals("after")) {
            method.insertAfter(code);
            return 1;
        }
        if (!how.equals("calls")) {
            throw new IllegalStateException("there is no " + how);
        }
        final String call = changes.getProperty(number + ".call");
        final int[] made = new int[1];
        method.instrument(new ExprEditor() {
            @Override
            public void edit(MethodCall called) throws CannotCompileException {
                if (called.getMethodName().equals(call)) {
                    called.replace(code);
                    made[0]++;
                }
            }
        });
        return made[0];
    }
}
