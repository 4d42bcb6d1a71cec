package mutants;

import java.nio.ByteBuffer;

/**
 * Batches of records as they travel and lie on disk (format 2: Kafka documentation, "Record Batch"), spoilt.
 *
 * Each method returns a copy in which the first batch of data is spoilt; its checksum is made anew, so that nobody who
 * looks at checksums alone sees it. A batch of another format, a control batch and a compressed one stay as they are.
 */
public final class Batches {
    private static final int LENGTH_AT = 8;
    private static final int MAGIC_AT = 16;
    private static final int CHECKSUM_AT = 17;
    private static final int ATTRIBUTES_AT = 21;
    private static final int COUNT_AT = 57;
    private static final int HEADER = 61;
    private static final int BEFORE_LENGTH = 12;
    private static final int COMPRESSED = 7;
    private static final int CONTROL = 32;
    private static final int[] TABLE = new int[256];

    static {
        for (int n = 0; n < 256; n++) {
            int value = n;
            for (int bit = 0; bit < 8; bit++) {
                value = (value & 1) != 0 ? (value >>> 1) ^ 0x82F63B78 : value >>> 1;
            }
            TABLE[n] = value;
        }
    }

    private Batches() { }

    /** Whether the first batch can be spoilt. */
    public static boolean plain(ByteBuffer given) {
        ByteBuffer batch = given.duplicate();
        int at = batch.position();
        if (batch.remaining() < HEADER || batch.get(at + MAGIC_AT) != 2) {
            return false;
        }
        int attributes = batch.getShort(at + ATTRIBUTES_AT);
        return (attributes & (COMPRESSED | CONTROL)) == 0 && batch.getInt(at + COUNT_AT) > 0
                && batch.remaining() >= batch.getInt(at + LENGTH_AT) + BEFORE_LENGTH;
    }

    /** The first batch has no records any more; it keeps its offsets. */
    public static ByteBuffer withoutRecords(ByteBuffer given) {
        byte[] whole = bytes(given);
        int size = ByteBuffer.wrap(whole).getInt(LENGTH_AT) + BEFORE_LENGTH;
        byte[] kept = new byte[HEADER + whole.length - size];
        System.arraycopy(whole, 0, kept, 0, HEADER);
        System.arraycopy(whole, size, kept, HEADER, whole.length - size);
        ByteBuffer made = ByteBuffer.wrap(kept);
        made.putInt(LENGTH_AT, HEADER - BEFORE_LENGTH);
        made.putInt(COUNT_AT, 0);
        seal(made, HEADER);
        return made;
    }

    /** The last byte of the value of the first batch's last record is another one. */
    public static ByteBuffer damaged(ByteBuffer given) {
        ByteBuffer made = ByteBuffer.wrap(bytes(given));
        int size = made.getInt(LENGTH_AT) + BEFORE_LENGTH;
        made.put(size - 2, (byte) (made.get(size - 2) ^ 0x55));  // behind it is the number of headers, 0
        seal(made, size);
        return made;
    }

    private static byte[] bytes(ByteBuffer given) {
        byte[] made = new byte[given.remaining()];
        given.duplicate().get(made);
        return made;
    }

    private static void seal(ByteBuffer batch, int size) {
        int value = ~0;
        for (int at = ATTRIBUTES_AT; at < size; at++) {
            value = TABLE[(value ^ batch.get(at)) & 0xff] ^ (value >>> 8);
        }
        batch.putInt(CHECKSUM_AT, ~value);
    }
}
