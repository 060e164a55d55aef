import { shortForms } from './short-forms.ts';
import { inTraffic } from './tortures.ts';

shortForms(inTraffic);
