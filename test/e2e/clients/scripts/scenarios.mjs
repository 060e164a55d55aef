// What the scripts of clients in JavaScript have in common: the same is in scenarios.py.

export const schema = {
  city: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
  person: {
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'integer' } },
    required: ['name', 'age'],
    additionalProperties: false,
  },
};

/** One pixel. */
export const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==';
export const pdf = Buffer.from('%PDF-1.4\n%%EOF\n').toString('base64');

/**
 * Runs each scenario for each of the models, which are an object of JSON, by the mode they stand for; all models at once. Prints a line
 * of JSON of what came of each.
 */
export const everyMode = async (scenariosOf) => {
  const models = JSON.parse(process.argv[4]);
  const every = async ([mode, model]) => {
    for (const [scenario, play] of Object.entries(scenariosOf(model))) {
      const outcome = await play().then(
        (result) => ({ result }),
        (error) => ({ refused: { status: error.statusCode ?? error.status ?? null, message: String(error.message) } }),
      );
      process.stdout.write(`${JSON.stringify({ mode, scenario, ...outcome })}\n`);
    }
  };
  await Promise.all(Object.entries(models).map(every));
};

/** What the error of a refused request says in this field; null of one that is answered. */
export const toldBy = (asked, field) =>
  asked.then(
    () => null,
    (error) => error[field],
  );
