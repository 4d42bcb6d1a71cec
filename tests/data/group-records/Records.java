import com.fasterxml.jackson.databind.JsonNode;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HexFormat;
import java.util.List;
import java.util.TreeSet;
import java.util.jar.JarEntry;
import java.util.jar.JarFile;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Message;
import org.apache.kafka.common.protocol.ObjectSerializationCache;

/** Records of __consumer_offsets as Kafka's own generated classes write them, a line each:
 *  type, version, key (hex), value (hex), and both as JSON. Each type and version twice: with its
 *  defaults, and with every field set.
 *
 *  java -cp "jars/*" Records.java jars/kafka-group-coordinator-VERSION.jar (jars of a release from 3.9 on, with Jackson's)
 */
public class Records {
    private static int next;

    public static void main(String[] jars) throws Exception {
        TreeSet<String> names = new TreeSet<>();
        for (String jar : jars) {
            try (JarFile file = new JarFile(jar)) {
                for (JarEntry entry : Collections.list(file.entries())) {
                    if (entry.getName().matches(".*/coordinator/group/generated/[A-Za-z]+Value\\.class")) {
                        names.add(entry.getName().replace('/', '.').replace("Value.class", ""));
                    }
                }
            }
        }
        for (String name : names) {
            ApiMessage plain = (ApiMessage) Class.forName(name + "Value").getConstructor().newInstance();
            for (short version = plain.lowestSupportedVersion(); version <= plain.highestSupportedVersion(); version++) {
                for (boolean filled : new boolean[] {false, true}) {
                    ApiMessage key = (ApiMessage) Class.forName(name + "Key").getConstructor().newInstance();
                    ApiMessage value = (ApiMessage) Class.forName(name + "Value").getConstructor().newInstance();
                    next = 1;
                    fill(key);
                    if (filled) {
                        fill(value);
                    }
                    print(name, key, value, version);
                }
            }
        }
    }

    private static void fill(Object message) throws Exception {
        for (Field field : message.getClass().getDeclaredFields()) {
            if (java.lang.reflect.Modifier.isStatic(field.getModifiers()) || field.getName().startsWith("_")) {
                continue;
            }
            field.setAccessible(true);
            field.set(message, made(field.getGenericType()));
        }
    }

    private static Object made(java.lang.reflect.Type type) throws Exception {
        int number = next++;
        if (type instanceof ParameterizedType list) {
            ArrayList<Object> found = new ArrayList<>();
            found.add(made(list.getActualTypeArguments()[0]));
            found.add(made(list.getActualTypeArguments()[0]));
            return found;
        }
        return switch (type.getTypeName()) {
            case "int", "java.lang.Integer" -> number;
            case "long", "java.lang.Long" -> 1_000_000_000_000L + number;
            case "short", "java.lang.Short" -> (short) number;
            case "byte", "java.lang.Byte" -> (byte) number;
            case "boolean" -> true;
            case "java.lang.String" -> "s" + number;
            case "byte[]" -> new byte[] {(byte) 255, (byte) number};
            case "org.apache.kafka.common.Uuid" -> new Uuid(number, -number);
            default -> {
                Object inner = ((Class<?>) type).getConstructor().newInstance();
                fill(inner);
                yield inner;
            }
        };
    }

    private static void print(String name, ApiMessage key, ApiMessage value, short version) throws Exception {
        boolean apart = key.apiKey() >= 0;  // 4.0 and before: the version of a key is its type
        short type = apart ? key.apiKey() : key.highestSupportedVersion();
        short version0 = apart ? 0 : type;
        try {
            String line = String.join("\t", name.substring(name.lastIndexOf('.') + 1), "" + version,
                bytes(type, key, version0), bytes(version, value, version),
                json(name + "Key", key, version0), json(name + "Value", value, version));
            System.out.println(line);
        } catch (org.apache.kafka.common.errors.UnsupportedVersionException error) {
            System.err.println(name + " " + version + ": " + error.getMessage());
        }
    }

    private static String bytes(short prefix, Message message, short version) {
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer buffer = ByteBuffer.allocate(2 + message.size(cache, version));
        buffer.putShort(prefix);
        message.write(new ByteBufferAccessor(buffer), cache, version);
        return HexFormat.of().formatHex(buffer.array());
    }

    private static String json(String name, ApiMessage message, short version) throws Exception {
        Method write = null;
        for (Method one : Class.forName(name + "JsonConverter").getMethods()) {
            if (one.getName().equals("write") && one.getParameterCount() == 2) {
                write = one;
            }
        }
        return ((JsonNode) write.invoke(null, message, version)).toString();
    }
}
