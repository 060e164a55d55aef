import { constant, covering, type Quantity, sum } from './quantity.ts';
import { plain, type Shape, text } from './sizes.ts';

/** Characters of a value and its items. */
export const charactersOf = (shape: Shape): Quantity => {
  switch (shape.is) {
    case 'text':
      return shape.length;
    case 'list':
      return charactersOf(shape.item);
    case 'map':
      return sum(charactersOf(shape.key), charactersOf(shape.value));
    default:
      return [];
  }
};

export const countOf = (shape: Shape): Quantity =>
  shape.is === 'list' || shape.is === 'map' ? shape.count : constant(1);

/** What a loop over the value yields: items of a list, keys of a map. */
export const itemOf = (shape: Shape): Shape =>
  shape.is === 'list' ? shape.item : shape.is === 'map' ? shape.key : plain;

/** As large as all shapes together: for items of a literal, and for one of several values. */
export const together = (shapes: readonly Shape[]): Shape => {
  // An empty list literal does not have the type of its items.
  const first = shapes.find((shape) => shape.is !== 'plain');
  switch (first?.is) {
    case 'text':
      return text(sum(...shapes.map(charactersOf)));
    case 'list':
      return { is: 'list', count: sum(...shapes.map(countOf)), item: together(shapes.map(itemOf)) };
    case 'map':
      return {
        is: 'map',
        count: sum(...shapes.map(countOf)),
        key: together(shapes.map((shape) => (shape.is === 'map' ? shape.key : plain))),
        value: together(shapes.map((shape) => (shape.is === 'map' ? shape.value : plain))),
      };
    case 'record':
      return {
        is: 'record',
        fields: Object.fromEntries(
          Object.keys(first.fields).map((name) => [name, together(shapes.map((shape) => fieldOf(shape, name)))]),
        ),
      };
    default:
      return plain;
  }
};

export const fieldOf = (shape: Shape, name: string): Shape => {
  if (shape.is === 'map') return shape.value;
  return shape.is === 'record' ? (shape.fields[name] ?? plain) : plain;
};

/** The variable of a loop over a range: its values add up to the items. */
export const coveredBy = (shape: Shape, loop: number): Shape => {
  switch (shape.is) {
    case 'text':
      return text(covering(shape.length, loop));
    case 'list':
      return { is: 'list', count: covering(shape.count, loop), item: coveredBy(shape.item, loop) };
    case 'map':
      return {
        is: 'map',
        count: covering(shape.count, loop),
        key: coveredBy(shape.key, loop),
        value: coveredBy(shape.value, loop),
      };
    case 'record':
      return {
        is: 'record',
        fields: Object.fromEntries(Object.entries(shape.fields).map(([name, field]) => [name, coveredBy(field, loop)])),
      };
    default:
      return shape;
  }
};
