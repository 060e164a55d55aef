/** A language model of random weights in the GGUF format: small, wrong, and the same each time. */

const kinds = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 } as const;

const u32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
};
const u64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(BigInt(value));
  return bytes;
};
const f32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4);
  bytes.writeFloatLE(value);
  return bytes;
};
const string = (text: string): Buffer => Buffer.concat([u64(Buffer.byteLength(text)), Buffer.from(text)]);

const pair = (name: string, kind: number, value: Buffer): Buffer => Buffer.concat([string(name), u32(kind), value]);
const number = (name: string, value: number) => pair(name, kinds.uint32, u32(value));
const text = (name: string, value: string) => pair(name, kinds.string, string(value));
const list = (name: string, kind: number, values: readonly Buffer[]) =>
  pair(name, kinds.array, Buffer.concat([u32(kind), u64(values.length), ...values]));

const alignment = 32;
const padded = (bytes: Buffer): Buffer => Buffer.concat([bytes, Buffer.alloc(-bytes.length & (alignment - 1))]);

/** Numbers from -scale to scale, always the same. */
const weights = (count: number, scale: number, seed: number): Buffer => {
  const values = new Float32Array(count);
  let state = seed;
  for (let index = 0; index < count; index += 1) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    values[index] = scale * (state / 2 ** 31 - 1);
  }
  return Buffer.from(values.buffer);
};

const [width, heads, inner, context] = [32, 4, 64, 512];

/** Bytes, and all characters of ASCII that can be seen: each is a token of its own. */
const tokens = [
  ...['<unk>', '<s>', '</s>'].map((token, index) => ({ token, score: 0, type: index === 0 ? 2 : 3 })),
  ...Array.from({ length: 256 }, (_, byte) => ({
    token: `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
    score: 0,
    type: 6,
  })),
  ...[...'▁', ...Array.from({ length: 94 }, (_, index) => String.fromCharCode(33 + index))].map((token, index) => ({
    token,
    score: -index,
    type: 1,
  })),
];

const template = "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant:";

export const tinyGguf = (): Buffer => {
  const metadata = [
    text('general.architecture', 'llama'),
    text('general.name', 'tiny'),
    number('llama.context_length', context),
    number('llama.embedding_length', width),
    number('llama.block_count', 1),
    number('llama.feed_forward_length', inner),
    number('llama.attention.head_count', heads),
    number('llama.attention.head_count_kv', heads),
    pair('llama.attention.layer_norm_rms_epsilon', kinds.float32, f32(1e-5)),
    number('llama.rope.dimension_count', width / heads),
    number('llama.vocab_size', tokens.length),
    text('tokenizer.ggml.model', 'llama'),
    list(
      'tokenizer.ggml.tokens',
      kinds.string,
      tokens.map(({ token }) => string(token)),
    ),
    list(
      'tokenizer.ggml.scores',
      kinds.float32,
      tokens.map(({ score }) => f32(score)),
    ),
    list(
      'tokenizer.ggml.token_type',
      kinds.int32,
      tokens.map(({ type }) => u32(type)),
    ),
    number('tokenizer.ggml.bos_token_id', 1),
    number('tokenizer.ggml.eos_token_id', 2),
    number('tokenizer.ggml.unknown_token_id', 0),
    text('tokenizer.chat_template', template),
  ];
  const square = [width, width];
  const tensors: readonly (readonly [string, readonly number[]])[] = [
    ['token_embd.weight', [width, tokens.length]],
    ['output_norm.weight', [width]],
    ['output.weight', [width, tokens.length]],
    ['blk.0.attn_norm.weight', [width]],
    ['blk.0.attn_q.weight', square],
    ['blk.0.attn_k.weight', square],
    ['blk.0.attn_v.weight', square],
    ['blk.0.attn_output.weight', square],
    ['blk.0.ffn_norm.weight', [width]],
    ['blk.0.ffn_gate.weight', [width, inner]],
    ['blk.0.ffn_up.weight', [width, inner]],
    ['blk.0.ffn_down.weight', [inner, width]],
  ];
  const data = tensors.map(([, shape], index) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return padded(weights(count, shape.length === 1 ? 2 : 0.6, index + 1));
  });
  let offset = 0;
  const infos = tensors.map(([name, shape], index) => {
    const info = Buffer.concat([string(name), u32(shape.length), ...shape.map(u64), u32(0), u64(offset)]);
    offset += data[index]!.length;
    return info;
  });
  const head = Buffer.concat([
    Buffer.from('GGUF'),
    u32(3),
    u64(tensors.length),
    u64(metadata.length),
    ...metadata,
    ...infos,
  ]);
  return Buffer.concat([padded(head), ...data]);
};
