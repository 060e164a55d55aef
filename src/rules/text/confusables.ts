// Made by test/support/confusables.ts; do not edit.

/**
 * Characters that are drawn like an ASCII letter and that NFKC leaves alone: letters and symbols of the confusables of Unicode
 * (UTS #39, Unicode License), all small capitals, and letters with a bar; without
 * what else stands for more than one character.
 * Source: version 18.0.0, SHA-256 6ed3ee967c9dfdf6677d563c9985182fbc50a2efb7d6059cd57b2e2ce18f5b92; of Unicode 17.0.
 */
const drawnAlike: Readonly<Record<string, string>> = {
  A: '\u{23a}\u{391}\u{410}\u{13aa}\u{15c5}\u{a4ee}\u{102a0}\u{16f40}',
  B: '\u{243}\u{392}\u{412}\u{13f4}\u{15f7}\u{2c82}\u{a4d0}\u{a557}\u{a7b4}\u{10282}\u{102a1}\u{10301}',
  C: '\u{23b}\u{421}\u{13df}\u{2ca4}\u{a4da}\u{102a2}\u{10302}\u{10415}\u{1051b}\u{1f74c}',
  D: '\u{110}\u{13a0}\u{15de}\u{15ea}\u{a4d3}',
  E: '\u{246}\u{395}\u{415}\u{13ac}\u{22ff}\u{2d39}\u{a4f0}\u{a5cb}\u{10286}\u{118a6}\u{118ae}',
  F: '\u{3dc}\u{7d3}\u{15b4}\u{a4dd}\u{a798}\u{10287}\u{102a5}\u{10525}\u{118a2}\u{118c2}\u{1d213}',
  G: '\u{1e4}\u{50c}\u{13c0}\u{13f3}\u{a4d6}',
  H: '\u{126}\u{397}\u{41d}\u{13bb}\u{157c}\u{2c8e}\u{a4e7}\u{102cf}',
  I: '\u{196}\u{197}\u{399}\u{406}\u{4c0}\u{2c92}\u{a7ae}\u{10ca5}\u{16eaa}',
  J: '\u{248}\u{37f}\u{408}\u{13ab}\u{148d}\u{a4d9}\u{a7b2}',
  K: '\u{39a}\u{41a}\u{13e6}\u{16d5}\u{2c94}\u{a4d7}\u{10518}',
  L: '\u{141}\u{13de}\u{14aa}\u{2cd0}\u{a4e1}\u{1041b}\u{10526}\u{118a3}\u{118b2}\u{16f16}\u{1d22a}',
  M: '\u{39c}\u{3fa}\u{41c}\u{13b7}\u{15f0}\u{16d6}\u{2c98}\u{a4df}\u{102b0}\u{10311}\u{10c21}',
  N: '\u{39d}\u{2c9a}\u{a4e0}\u{10513}\u{11abe}',
  O: '\u{d8}\u{39f}\u{41e}\u{555}\u{b20}\u{12d0}\u{1cbf}\u{2c9e}\u{2d54}\u{a4f3}\u{10292}\u{102ab}\u{1030f}\u{10404}\u{104c2}\u{10516}\u{10c17}\u{118b5}\u{16ae9}',
  P: '\u{3a1}\u{420}\u{13e2}\u{146d}\u{2ca2}\u{2cce}\u{a4d1}\u{10295}',
  Q: '\u{51a}\u{2d55}',
  R: '\u{1a6}\u{24c}\u{13a1}\u{13d2}\u{1587}\u{a4e3}\u{104b4}\u{16f35}\u{1d216}',
  S: '\u{405}\u{54f}\u{10bd}\u{10fd}\u{13d5}\u{13da}\u{1cbd}\u{a4e2}\u{a576}\u{10296}\u{10420}\u{16ad6}\u{16f3a}',
  T: '\u{166}\u{3a4}\u{422}\u{7e0}\u{13a2}\u{22a4}\u{27d9}\u{2ca6}\u{3112}\u{4e05}\u{a4d4}\u{a50b}\u{10297}\u{102b1}\u{10315}\u{118bc}\u{16f0a}\u{1f768}',
  U: '\u{244}\u{54d}\u{1200}\u{144c}\u{222a}\u{22c3}\u{a4f4}\u{104ce}\u{118b8}\u{16f42}',
  V: '\u{474}\u{13d9}\u{142f}\u{2d38}\u{a4e6}\u{a6df}\u{1051d}\u{10c1f}\u{118a0}\u{16f08}\u{1d20d}',
  W: '\u{51c}\u{13b3}\u{13d4}\u{a4ea}\u{1d20c}',
  X: '\u{3a7}\u{425}\u{166d}\u{16b7}\u{1cf5}\u{2573}\u{2cac}\u{2d5d}\u{a4eb}\u{a7b3}\u{10290}\u{102b4}\u{10317}\u{10527}\u{10c13}\u{10c82}',
  Y: '\u{24e}\u{3a5}\u{423}\u{4ae}\u{7cc}\u{13a9}\u{13bd}\u{2ca8}\u{311a}\u{4e2b}\u{a4ec}\u{102b2}\u{10c20}\u{118a4}\u{16f43}',
  Z: '\u{1b5}\u{396}\u{10cd}\u{13c3}\u{2c6b}\u{2c8c}\u{a4dc}\u{a6c9}\u{10507}\u{118a9}\u{11abc}',
  a: '\u{251}\u{3b1}\u{430}\u{1d00}\u{237a}\u{2c65}\u{ab64}',
  b: '\u{180}\u{184}\u{299}\u{42c}\u{7d5}\u{13cf}\u{1472}\u{15af}\u{1031c}\u{16eb6}\u{1d207}',
  c: '\u{23c}\u{441}\u{1004}\u{105a}\u{1c83}\u{1d04}\u{2ca5}\u{abaf}\u{1043d}\u{1d134}',
  d: '\u{111}\u{501}\u{13e7}\u{146f}\u{1d05}\u{a4d2}',
  e: '\u{247}\u{435}\u{4bd}\u{1d07}\u{212e}\u{ab32}',
  f: '\u{192}\u{284}\u{584}\u{1e9d}\u{a730}\u{a799}\u{ab35}\u{1017e}',
  g: '\u{18d}\u{1e5}\u{261}\u{262}\u{581}\u{1d83}',
  h: '\u{127}\u{29c}\u{4ba}\u{4bb}\u{570}\u{10b9}\u{13c2}',
  i: '\u{131}\u{268}\u{269}\u{26a}\u{3b9}\u{456}\u{582}\u{13a5}\u{2373}\u{2c93}\u{a647}\u{ab75}\u{118c3}',
  j: '\u{237}\u{249}\u{3f3}\u{458}\u{575}\u{1d0a}',
  k: '\u{3ba}\u{43a}\u{1d0b}',
  l: '\u{142}\u{19a}\u{1c0}\u{26b}\u{29f}\u{4cf}\u{5d5}\u{5df}\u{627}\u{7ca}\u{16c1}\u{16d0}\u{2d4a}\u{2d4f}\u{a4f2}\u{a56f}\u{a781}\u{a7fe}\u{1028a}\u{10309}\u{1050e}\u{10926}\u{10c3e}\u{11dda}\u{16d63}\u{16f28}',
  m: '\u{43c}\u{1d0d}',
  n: '\u{274}\u{578}\u{57c}',
  o: '\u{f8}\u{275}\u{3bf}\u{3c3}\u{3ed}\u{43e}\u{585}\u{5e1}\u{647}\u{6be}\u{6c1}\u{6d5}\u{7cb}\u{840}\u{d20}\u{101d}\u{10ff}\u{110b}\u{11bc}\u{1a45}\u{1c82}\u{1d0f}\u{1d11}\u{2c9f}\u{ab3d}\u{1042c}\u{104ea}\u{1092c}\u{10d07}\u{11124}\u{118c8}\u{118d7}',
  p: '\u{fe}\u{1bf}\u{3c1}\u{3f8}\u{440}\u{1d18}\u{2374}\u{2ca3}\u{2ccf}',
  q: '\u{51b}\u{563}\u{566}',
  r: '\u{24d}\u{280}\u{433}\u{1d26}\u{2c85}\u{ab47}\u{ab48}\u{ab81}\u{16a19}',
  s: '\u{1bd}\u{455}\u{d1f}\u{a731}\u{abaa}\u{10448}\u{118c1}',
  t: '\u{167}\u{3c4}\u{442}\u{1d1b}',
  u: '\u{289}\u{28b}\u{3c5}\u{57d}\u{1d1c}\u{a79f}\u{ab4e}\u{ab52}\u{104f6}\u{118d8}',
  v: '\u{3bd}\u{475}\u{5d8}\u{1d20}\u{2228}\u{22c1}\u{aba9}\u{11706}\u{118c0}',
  w: '\u{26f}\u{448}\u{461}\u{51d}\u{561}\u{1d21}\u{29e2}\u{2cbd}\u{a7fa}\u{ab83}\u{aba4}\u{1170a}\u{1170e}\u{1170f}',
  x: '\u{d7}\u{445}\u{1541}\u{157d}\u{1763}\u{292b}\u{292c}\u{2a2f}\u{10cc2}',
  y: '\u{24f}\u{263}\u{28f}\u{3b3}\u{443}\u{4af}\u{10e7}\u{1d8c}\u{1eff}\u{2ca9}\u{ab5a}\u{118c4}\u{118dc}',
  z: '\u{1b6}\u{1d22}\u{2c6c}\u{2c8d}\u{2d2d}\u{ab93}',
};

/** From each of them to the letter. */
export const asciiOf: ReadonlyMap<string, string> = new Map(
  Object.entries(drawnAlike).flatMap(([ascii, all]) => [...all].map((each) => [each, ascii] as const)),
);

/** The zero of each script's decimal digits that NFKC leaves alone; the other nine follow it. */
const zeros =
  '\u{660}\u{6f0}\u{7c0}\u{966}\u{9e6}\u{a66}\u{ae6}\u{b66}\u{be6}\u{c66}\u{ce6}\u{d66}\u{de6}\u{e50}\u{ed0}\u{f20}\u{1040}\u{1090}\u{17e0}\u{1810}\u{1946}\u{19d0}\u{1a80}\u{1a90}\u{1b50}\u{1bb0}\u{1c40}\u{1c50}\u{a620}\u{a8d0}\u{a900}\u{a9d0}\u{a9f0}\u{aa50}\u{abf0}\u{104a0}\u{10d30}\u{10d40}\u{11066}\u{110f0}\u{11136}\u{111d0}\u{112f0}\u{11450}\u{114d0}\u{11650}\u{116c0}\u{116d0}\u{116da}\u{11730}\u{118e0}\u{11950}\u{11bf0}\u{11c50}\u{11d50}\u{11da0}\u{11de0}\u{11f50}\u{16130}\u{16a60}\u{16ac0}\u{16b50}\u{16d70}\u{1e140}\u{1e2f0}\u{1e4f0}\u{1e5f1}\u{1e950}';

/** From each such digit to the ASCII digit of its value. */
export const digitOf: ReadonlyMap<string, string> = new Map(
  [...zeros].flatMap((zero) =>
    Array.from(
      { length: 10 },
      (_, value) => [String.fromCodePoint(zero.codePointAt(0)! + value), String(value)] as const,
    ),
  ),
);
