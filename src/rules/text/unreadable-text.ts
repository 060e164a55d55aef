/** Rules cannot be shown the text. The message becomes the verdict's and quotes nothing. */
export class UnreadableText extends Error {
  override readonly name = 'UnreadableText';
}
