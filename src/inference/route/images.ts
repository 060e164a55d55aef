import { Kind, type Tape } from '../../json/tape/tape.ts';
import type { Model } from '../../upstream/models/models.ts';

/** What an image is called in the three APIs. */
const kinds = ['image', 'image_url', 'input_image', 'computer_screenshot'];
/** Where the parts of a message are, of the result of a tool, and of a document. */
const inside = ['content', 'output', 'source'];

/** Where images have no price nobody has to count them. */
const isPriced = ({ pricing: { image } }: Model): boolean => image !== undefined && Number(image) > 0;

/** The images of a conversation that have a price, also those in results of tools and in documents. */
export const pricedImages = (model: Model, conversation: unknown): number =>
  isPriced(model) ? imagesIn(conversation) : 0;

const imagesIn = (value: unknown): number => {
  if (Array.isArray(value)) return value.reduce<number>((sum, each) => sum + imagesIn(each), 0);
  if (typeof value !== 'object' || value === null) return 0;
  const fields = value as Readonly<Record<string, unknown>>;
  if (kinds.includes(fields.type as string)) return 1;
  return inside.reduce((sum, name) => sum + imagesIn(fields[name]), 0);
};

const bytesOf = (name: string): Buffer => Buffer.from(name);
const [kindBytes, insideBytes, listBytes] = [kinds, inside, ['messages', 'input']].map((names) =>
  names.map(bytesOf),
) as [Buffer[], Buffer[], Buffer[]];
const type = bytesOf('type');

/** The same of a scanned request, in which no `type` of a part is escaped. */
export const pricedImagesOnTape = (model: Model, tape: Tape): number =>
  isPriced(model) ? listBytes.reduce((sum, name) => sum + imagesAt(tape, tape.member(0, name)), 0) : 0;

const imagesAt = (tape: Tape, entry: number): number => {
  if (entry === -1) return 0;
  const kind = tape.kind(entry);
  let images = 0;
  if (kind === Kind.array) {
    const end = tape.next(entry);
    for (let at = entry + 1; at < end; at = tape.next(at)) images += imagesAt(tape, at);
  } else if (kind === Kind.object) {
    const tag = tape.member(entry, type);
    if (tag !== -1 && tape.kind(tag) === Kind.string && kindBytes.some((name) => tape.spells(tag, name))) return 1;
    for (const name of insideBytes) images += imagesAt(tape, tape.member(entry, name));
  }
  return images;
};
