/** The index of the fault, found by halving, since Node 20 gives no place for a short text. */
export const faultyAt = (text: string): number => {
  let [good, bad] = [0, text.length + 1];
  while (bad - good > 1) {
    const middle = Math.floor((good + bad) / 2);
    if (isBeginning(text.slice(0, middle))) good = middle;
    else bad = middle;
  }
  return good;
};

const isBeginning = (text: string): boolean => {
  try {
    JSON.parse(text);
    return true;
  } catch (error) {
    const { message } = error as SyntaxError;
    const position = /position (\d+)/.exec(message)?.[1];
    return position === undefined ? message.includes('end of JSON') : Number(position) >= text.length;
  }
};
