import { z } from 'zod';
import { isWebSearch, searchName, searchType } from '../../upstream/web-search.ts';
import { list } from './list-schema.ts';
import { namedFields } from './named-fields.ts';
import { taggedUnion } from './tagged-union.ts';

const maxTools = 128;

export const toolName = z.string().regex(/^[A-Za-z0-9_-]{1,128}$/);

/** Run by the caller (contract G.1); other types are run by a server. */
const customTool = z.looseObject({
  type: z.literal('custom').nullish(),
  name: toolName,
  description: z.string().nullish(),
  input_schema: z.looseObject({ type: z.literal('object') }),
  strict: z.boolean().nullish(),
  input_examples: list(z.record(z.string(), z.unknown())).nullish(),
});

/** Made of a request of another API. */
const webSearch = z.object({
  type: z.literal(searchType),
  name: z.literal(searchName),
  max_uses: z.number().optional(),
  allowed_domains: z.array(z.string()).optional(),
  user_location: z.record(z.string(), z.unknown()).optional(),
  search_context_size: z.string().optional(),
});

const checkNames = (tools: readonly { readonly name: string }[], context: z.RefinementCtx): void => {
  const names = new Set<string>();
  // More tools are refused anyway.
  for (const [index, { name }] of tools.slice(0, maxTools).entries()) {
    if (names.has(name)) {
      context.addIssue({
        code: 'custom',
        path: [index, 'name'],
        message: 'Another tool has this name.',
        input: name,
      });
    }
    names.add(name);
  }
};

export const toolsSchema = list(taggedUnion('type', 'unsupported_tool', [customTool]))
  .max(maxTools)
  .superRefine(checkNames);

export const translatedTools = list(taggedUnion('type', 'unsupported_tool', [customTool, webSearch]))
  .max(maxTools)
  .superRefine(checkNames);

/** Contract G.1. Without `type`, a `name` means `tool`, nothing means `auto`. */
export const toolChoiceSchema = namedFields({
  type: z.enum(['auto', 'any', 'tool', 'none']).nullish(),
  name: z.string().nullish(),
  disable_parallel_tool_use: z.boolean().nullish(),
}).meta({ not: { properties: { type: { const: 'tool' }, name: { type: 'null' } }, required: ['type'] } });

export type ToolsInput = z.output<typeof translatedTools>;
export type ToolChoiceInput = z.output<typeof toolChoiceSchema>;

export const toolChoiceType = ({ type, name }: ToolChoiceInput) => type ?? (name == null ? 'auto' : 'tool');

interface Choosing {
  readonly tools?: ToolsInput | null | undefined;
  readonly tool_choice?: ToolChoiceInput | null | undefined;
}

/** `checkToolChoice` for the OpenAPI document, which cannot check declared names. */
export const toolChoiceTogether = {
  not: {
    properties: {
      tool_choice: {
        type: 'object',
        anyOf: [
          { properties: { type: { enum: ['any', 'tool'] } }, required: ['type'] },
          { properties: { type: { type: 'null' }, name: { type: 'string' } }, required: ['name'] },
        ],
      },
      tools: { type: ['array', 'null'], maxItems: 0 },
    },
    required: ['tool_choice'],
  },
};

/** `tool` needs a declared name, `any` needs tools (contract G.1). */
export const checkToolChoice = (body: Choosing, context: z.RefinementCtx): void => {
  const { tool_choice: choice, tools } = body;
  if (choice == null) return;
  const type = toolChoiceType(choice);
  if (type === 'none' || type === 'auto') return;
  if (tools == null || tools.length === 0) {
    context.addIssue({
      code: 'custom',
      path: ['tools'],
      message: `The tool_choice ${type} needs tools.`,
      input: tools,
    });
  } else if (type === 'tool') {
    const path = ['tool_choice', 'name'];
    const { name } = choice;
    if (name == null) context.addIssue({ code: 'invalid_type', expected: 'string', path, input: undefined });
    else if (!tools.some((tool) => tool.name === name && !isWebSearch(tool))) {
      context.addIssue({ code: 'custom', path, message: 'No tool of this name is declared.', input: name });
    }
  }
};
