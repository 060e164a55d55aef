import { type Document, Kind } from '../../json/document.ts';
import { named } from '../../json/names.ts';
import type { Model } from '../upstream/models/models.ts';
import type { GenerateRequest, InputBlock } from '../upstream/port.ts';
import { isPricedIn } from './priced.ts';

const { type, input, image_url: link } = named('type', 'input', 'image_url');
const kinds = Object.values(named('image', 'image_url', 'input_image', 'computer_screenshot'));
/** Their `input` is data, whatever it says. */
const calls = Object.values(named('tool_use', 'server_tool_use'));
/** Otherwise nothing is counted. */
export const pricesImages = (model: Model): boolean => isPricedIn(model, ({ image }) => Number(image) > 0);

/** @param conversation outermost members, searched at any depth */
export const imagesIn = (tape: Document, conversation: readonly Buffer[]): number =>
  conversation.reduce((sum, name) => sum + imagesAt(tape, tape.member(0, name)), 0);

const imagesAt = (tape: Document, entry: number): number => {
  let images = 0;
  tape.eachItem(entry, (item) => {
    images += imagesAt(tape, item);
  });
  if (!tape.is(entry, Kind.object)) return images;
  const tag = tape.member(entry, type);
  const isTagged = (names: readonly Buffer[]) => names.some((name) => tape.says(tag, name));
  // Some servers recognise an image by its link without a type.
  const isLinked = !tape.isGiven(tag) && tape.isGiven(tape.member(entry, link));
  if (isLinked || isTagged(kinds)) return 1;
  const isCall = isTagged(calls);
  tape.eachName(entry, (name) => {
    if (!(isCall && tape.spells(name, input))) images += imagesAt(tape, name + 1);
  });
  return images;
};

/** The same of a request in Weir's own form. */
export const imagesOf = (content: GenerateRequest['messages'][number]['content'] | undefined): number => {
  if (!Array.isArray(content)) return 0;
  return (content as readonly InputBlock[]).reduce((sum, block) => {
    if (block.type === 'image') return sum + 1;
    const { content: inner } = (block.type === 'document' ? block.source : block) as { readonly content?: [] };
    return sum + imagesOf(inner);
  }, 0);
};
