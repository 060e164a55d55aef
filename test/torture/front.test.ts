import { shortForms } from './short-forms.ts';
import { atFront } from './tortures.ts';

shortForms(atFront);
