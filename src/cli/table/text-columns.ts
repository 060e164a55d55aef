import stringWidth from 'string-width';
import { timeOfId } from '../../ids.ts';

export const columnsOf = (text: string): number => stringWidth(text);

const characters = new Intl.Segmenter();

/** Ids and URLs are useless in part, so they are never broken. */
export const isWhole = (word: string): boolean =>
  timeOfId(word.slice(word.indexOf('-') + 1)) !== null || /^https?:\/\//.test(word);

/** Cuts a word to a width, at least one character, behind a joint such as `_` if that leaves more than half of it. */
const cut = (word: string, columns: number): readonly [string, string] => {
  let [head, taken] = ['', 0];
  for (const { segment } of characters.segment(word)) {
    taken += columnsOf(segment);
    if (head !== '' && taken > columns) break;
    head += segment;
  }
  if (head.length < word.length) {
    const end = Math.max(...['.', '_', '/', '-', ':'].map((joint) => head.lastIndexOf(joint))) + 1;
    if (end > head.length / 2) head = head.slice(0, end);
  }
  return [head, word.slice(head.length)];
};

/** Wraps a text between words, or within a word that is longer than a line and is not an id or URL. */
export const wrapped = (text: string, columns: number): string[] => {
  const lines: string[] = [];
  for (const paragraph of text.split('\n')) {
    let line = '';
    for (let word of paragraph.split(' ')) {
      if (line !== '' && columnsOf(`${line} ${word}`) <= columns) {
        line += ` ${word}`;
        continue;
      }
      if (line !== '') lines.push(line);
      while (columnsOf(word) > columns && !isWhole(word)) {
        const [head, rest] = cut(word, columns);
        if (rest === '') break;
        lines.push(head);
        word = rest;
      }
      line = word;
    }
    lines.push(line);
  }
  return lines;
};
