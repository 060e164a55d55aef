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

/** Runs each scenario for the strict and the passing model, and prints a line of JSON of what came of each. */
export const everyMode = async (scenariosOf) => {
  const [, , strict, passing] = process.argv.slice(2);
  for (const [mode, model] of Object.entries({ strict, passing })) {
    for (const [scenario, play] of Object.entries(scenariosOf(model))) {
      const outcome = await play().then(
        (result) => ({ result }),
        (error) => ({ refused: { status: error.statusCode ?? error.status ?? null, message: String(error.message) } }),
      );
      process.stdout.write(`${JSON.stringify({ mode, scenario, ...outcome })}\n`);
    }
  }
};

/** What the error of a refused request says in this field; null of one that is answered. */
export const toldBy = (asked, field) =>
  asked.then(
    () => null,
    (error) => error[field],
  );
