import { shortForms } from './short-forms.ts';
import { atModels } from './tortures.ts';

shortForms(atModels);
