import { describe, expect, test } from 'vitest';
import { eventStoreClient } from './eventstore-client.ts';
import { repetitions } from './recorded/again.ts';
import { appends } from './recorded/append.ts';
import { asked, type Questions } from './recorded/asking.ts';
import { deletes } from './recorded/delete.ts';
import { edgesAppend } from './recorded/edges-append.ts';
import { edgesMetadata } from './recorded/edges-metadata.ts';
import { edgesSubscribe } from './recorded/edges-subscribe.ts';
import { endsAll } from './recorded/ends-all.ts';
import { endsStream } from './recorded/ends-stream.ts';
import { endsSubscribe } from './recorded/ends-subscribe.ts';
import { largeAppends } from './recorded/large-appends.ts';
import { links } from './recorded/links.ts';
import { hiding } from './recorded/metadata.ts';
import { metadataOnly } from './recorded/metadata-only.ts';
import { positions } from './recorded/positions.ts';
import { reads } from './recorded/read.ts';
import { allSubscriptions } from './recorded/subscribe-all.ts';
import { streamSubscriptions } from './recorded/subscribe-stream.ts';
import { words } from './recorded/words.ts';
import { useServer } from './target.ts';

useServer(eventStoreClient);

/** What was asked of a real EventStoreDB 24.2.0 node through the unmodified client, with its answers. */
const recorded: Readonly<Record<string, Questions>> = {
  'an append': appends,
  'an append again': repetitions,
  'a read': reads,
  metadata: hiding,
  'a delete': deletes,
  'a link': links,
  'a subscription to a stream': streamSubscriptions,
  'a subscription to $all': allSubscriptions,
  'an append at its limits': edgesAppend,
  'odd metadata': edgesMetadata,
  'a subscription at its limits': edgesSubscribe,
  'the position beside an event': positions,
  'the words of a refusal': words,
  'a large append': largeAppends,
  'a stream that has only metadata': metadataOnly,
  'all from the ends of its range': endsAll,
  'a stream from the ends of its ranges': endsStream,
  'a subscription from the ends of its ranges': endsSubscribe,
};

test('all 167 questions are there', () => {
  expect(Object.values(recorded).flatMap((questions) => Object.keys(questions))).toHaveLength(167);
});

describe.each(Object.entries(recorded))('%s', (_, questions) => {
  for (const [name, question] of Object.entries(questions)) {
    test(name, async () => {
      expect(await asked(question)).toEqual(question.answer);
    });
  }
});
