/** A text that rules cannot be shown, so that none can be judged. Its message is that of their verdict, and quotes nothing. */
export class UnreadableText extends Error {
  override readonly name = 'UnreadableText';
}
