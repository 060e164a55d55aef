import { shortForms } from './short-forms.ts';
import { inGateway } from './tortures.ts';

shortForms(inGateway);
