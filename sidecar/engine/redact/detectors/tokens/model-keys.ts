// Finds keys of providers of language models, and of related services: search, traces, vectors, sandboxes.
import type { Detector } from '../../detector.ts';
import { isMixed } from './drawn.ts';
import { type Form, tokenDetector } from './token.ts';

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/;

const forms: readonly Form[] = [
  // Anthropic; OpenAI by project, service account, administrator; OpenRouter, Langfuse, Helicone.
  ['sk-', /ant-[a-z]{3,8}\d{2}-[\w-]{24,160}/],
  ['sk-', /(?:proj|svcacct|service|admin|None)-[\w-]{20,250}/],
  ['sk-', /or-v1-[0-9a-f]{64}/],
  ['sk-', new RegExp(`lf-${uuid.source}`)],
  ['sk-', /helicone-(?:[a-z]{2,6}-)?[a-z0-9]{7}-[a-z0-9]{7}-[a-z0-9]{7}-[a-z0-9]{7}/],
  // OpenAI's older form, and the many services that use the same form: DeepSeek, Moonshot, DashScope, Stability,
  // proxies; then forms that consist of several parts.
  ['sk-', /[A-Za-z0-9]{20,200}/],
  ['sk-', /(?:[A-Za-z0-9]{1,12}-){1,4}[A-Za-z0-9_]{20,200}/, { isReal: isMixed }],
  ['sk-', /[\w-]{22,200}/, { isReal: isMixed }],
  ['sess-', /[A-Za-z0-9]{40}/],
  ['gsk_', /[A-Za-z0-9]{52}/],
  ['xai-', /[A-Za-z0-9]{70,90}/],
  ['api_org_', /[A-Za-z0-9]{34}/],
  ['pplx-', /[A-Za-z0-9]{32,64}/],
  ['tgp_v1_', /[\w-]{43}/],
  ['nvapi-', /[\w-]{60,70}/],
  ['csk-', /[a-z0-9]{48}/],
  ['llx-', /[A-Za-z0-9]{40,64}/],
  ['sk_', /[0-9a-f]{48}/],
  ['sk_car_', /[\w-]{20,40}/],
  ['key_', /[0-9a-f]{28,128}/],
  ['crsr_', /[0-9a-f]{64}/],
  ['pat_', /[A-Za-z0-9]{64}/],
  ['dataset-', /[A-Za-z0-9]{24}/, { isReal: isMixed }],
  ['flp_', /[A-Za-z0-9]{40,50}/],
  ['esecret_', /[a-z0-9]{24,40}/],
  ['secret_', /[a-z0-9-]{4,40}_[0-9a-f]{32}\.[A-Za-z0-9]{32}/],
  ['rpa_', /[A-Z0-9]{36,50}[a-z0-9]{0,8}/],
  // Search and reading: Tavily, Jina.
  ['tvly-', /(?:dev-|prod-)?[A-Za-z0-9-]{30,64}/],
  ['jina_', /[0-9a-f]{32}[\w-]{28}/],
  // Vectors: Pinecone.
  ['pcsk_', /[A-Za-z0-9]{5,6}_[A-Za-z0-9]{60,66}/],
  // Traces: LangSmith, Weights & Biases; sandboxes and browsers: E2B, Daytona, Browserbase.
  ['lsv2_', /(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}/],
  ['ls__', /[0-9a-f]{32}/],
  ['wandb_v1_', /\w{60,90}/],
  ['e2b_', /[0-9a-f]{40}/],
  ['dtn_', /[0-9a-f]{64}/],
  ['bb_live_', /[\w-]{24,32}/],
];

// These forms begin with few letters, which are frequent in text. Therefore these forms are in a separate detector with
// its own maximum length, so that a stream holds back less text after these letters. Dify, Modal, Upstage, Brave,
// Voyage, Chroma, Mem0, Hugging Face, Fireworks, Replicate, Firecrawl.
const shortForms: readonly Form[] = [
  ['app-', /[A-Za-z0-9]{24}/, { isReal: isMixed }],
  ['ak-', /[A-Za-z0-9]{22}/, { isReal: isMixed }],
  ['as-', /[A-Za-z0-9]{22}/, { isReal: isMixed }],
  ['up_', /[A-Za-z0-9]{28,32}/, { isReal: isMixed }],
  ['BSA', /[\w-]{28}/, { isReal: isMixed }],
  ['pa-', /[\w-]{43}/],
  ['ck-', /[A-Za-z0-9]{44}/],
  ['m0-', /[A-Za-z0-9]{40}/],
  ['hf_', /[A-Za-z0-9]{30,40}/],
  ['fw_', /[A-Za-z0-9]{20,26}/],
  ['r8_', /[A-Za-z0-9]{37}/],
  ['fc-', /[0-9a-f]{32}/],
];

export const modelKeys: readonly Detector[] = [tokenDetector('model_key', 300, forms), tokenDetector('model_key', 64, shortForms)];
