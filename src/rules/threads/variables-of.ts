import { messageType, type RootName, roots, type TypedRecord, toolCallType } from '../language/variables.ts';
import { type RuleView, readField } from '../text/view.ts';

/** Those parts of a view that a rule reads, as plain values that can be sent to another thread: fields by root. */
export type RuleVariables = Partial<Record<RootName, Record<string, unknown>>>;

/** The types whose instances a snapshot cannot hold. */
const itemTypes: Readonly<Record<string, { readonly Record: new (values: never) => TypedRecord<unknown> }>> = {
  'list<Message>': messageType,
  'list<ToolCall>': toolCallType,
};

/** Copies the fields `reads` (`request.text` …) out of a view. Records in lists become their bare values. */
export const snapshotOf = (view: RuleView, reads: Iterable<string>): RuleVariables => {
  const variablesOf: RuleVariables = {};
  for (const path of reads) {
    const [root, field] = path.split('.') as [RootName, string];
    const value = readField(view, root, field);
    variablesOf[root] ??= {};
    variablesOf[root][field] = isRecordList(root, field)
      ? (value as readonly TypedRecord<object>[]).map(({ values }) => ({ ...values }))
      : value;
  }
  return variablesOf;
};

/** A view that answers what the snapshot holds and nothing else. */
export const viewOf = (snapshot: RuleVariables): RuleView => {
  const variables: Partial<Record<RootName, TypedRecord<unknown>>> = {};
  for (const [root, fields] of Object.entries(snapshot) as [RootName, Record<string, unknown>][]) {
    const values: Record<string, unknown> = {};
    for (const [field, value] of Object.entries(fields)) {
      const Item = itemTypes[roots[root].fields[field] ?? '']?.Record;
      values[field] = Item === undefined ? value : (value as never[]).map((item) => new Item(item));
    }
    variables[root] = new roots[root].Record(values as never);
  }
  return { variables, sizes: new Map() };
};

const isRecordList = (root: RootName, field: string): boolean =>
  itemTypes[roots[root].fields[field] ?? ''] !== undefined;
