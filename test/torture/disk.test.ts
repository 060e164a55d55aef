import { shortForms } from './short-forms.ts';
import { onDisk } from './tortures.ts';

shortForms(onDisk);
