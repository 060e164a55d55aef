import stringWidth from 'string-width';
import { timeOfId } from '../../ids.ts';

/** How many columns of a terminal a text takes. */
export const columnsOf = (text: string): number => stringWidth(text);

const characters = new Intl.Segmenter();

/** Half an id or half an address is of no use to anybody: one is never broken, whatever room there is. */
export const isWhole = (word: string): boolean =>
  timeOfId(word.slice(word.indexOf('-') + 1)) !== null || /^https?:\/\//.test(word);

/**
 * What of a word fits into so many columns, one character at least, and the rest: where the half of it can stay, behind
 * one of the characters that join the parts of a name.
 */
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

/** A text in lines of at most so many columns, broken between words, or within one that is longer than a line and is no id. */
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
