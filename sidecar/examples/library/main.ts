// Shows functions as tools. Each call is decided before the function is called, and recorded. What the policy redacts
// is removed.
import { connect, ToolDenied } from '@tollgate/sidecar';
import { addRules, grpc, key } from '../plane.ts';

await addRules({
  'shop.refund': { api: { permission: 'deny' } },
  'shop.notify': { api: { transform: 'redact' } },
});

const gate = await connect({ controlPlane: grpc, key });
const run = gate.run({ agent: 'shop-assistant', tier: 'api' });
const find = run.guard('shop.find', ({ order }: { order: number }) => ({ order, state: 'sent' }));
const notify = run.guard('shop.notify', ({ text }: { text: string }) => `the courier reads: ${text}`);
const refund = run.guard('shop.refund', ({ order }: { order: number }) => `refunded ${order}`);

console.log('found:', JSON.stringify(await find({ order: 7 })));
console.log(await notify({ text: 'Call ada@acme-mail.eu' }));
try {
  await refund({ order: 7 });
} catch (error) {
  if (!(error instanceof ToolDenied)) throw error;
  // The message is for the model, and `denial` is for programs.
  console.log('denied:', error.denial.code, '-', error.message);
}
await gate.close();
