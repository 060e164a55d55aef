import { shortForms } from './short-forms.ts';
import { onCluster } from './tortures.ts';

shortForms(onCluster);
