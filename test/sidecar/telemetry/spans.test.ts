// Spans as an exporter receives them, and that they contain no content of calls.
import { context, propagation, trace } from '@opentelemetry/api';
import {
  AlwaysOffSampler,
  InMemorySpanExporter,
  NodeTracerProvider,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-node';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { createSpans, type Spans } from '../../../sidecar/telemetry/spans.ts';
import { untraced } from '../../../sidecar/telemetry/tracing.ts';

const exporter = new InMemorySpanExporter();
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
provider.register();
const { tracing, inTrace } = createSpans(provider.getTracer('test'));
beforeEach(() => exporter.reset());
afterAll(async () => {
  await provider.shutdown();
  for (const api of [trace, context, propagation]) api.disable();
});

const traceId = '0af7651916cd43dd8448eb211c80319c';
const incoming = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: 'vendor=1', baggage: 'who=ann' };

const named = (name: string): ReadableSpan => {
  const found = exporter.getFinishedSpans().find((span) => span.name === name);
  if (found === undefined) throw new Error(`no span ${name}`);
  return found;
};

test('spans are named and nested as the work is, within the trace of the request, which is all that tools receive', async () => {
  let told: Readonly<Record<string, string>> = {};
  await inTrace(incoming, () =>
    tracing.span('invoke_agent', 'bot', { 'gen_ai.agent.name': 'bot' }, async (run) => {
      await tracing.span('chat', 'demo/echo', {}, async (chat) => chat.set({ 'gen_ai.response.finish_reasons': ['stop'] }));
      await tracing.span('execute_tool', 'box.one', {}, async (span) => {
        told = span.headers();
      });
      run.set({ 'tollgate.stop_reason': 'goal_complete' });
    }),
  );
  const [run, chat, tool] = [named('invoke_agent bot'), named('chat demo/echo'), named('execute_tool box.one')];
  for (const span of [run, chat, tool]) expect(span.spanContext().traceId).toBe(traceId);
  expect(run.parentSpanContext?.spanId).toBe('b7ad6b7169203331');
  for (const span of [chat, tool]) expect(span.parentSpanContext?.spanId).toBe(run.spanContext().spanId);
  expect(run.attributes).toEqual({
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'bot',
    'tollgate.stop_reason': 'goal_complete',
  });
  expect(chat.attributes).toEqual({ 'gen_ai.operation.name': 'chat', 'gen_ai.response.finish_reasons': ['stop'] });
  expect(told).toEqual({ traceparent: `00-${traceId}-${tool.spanContext().spanId}-01`, tracestate: 'vendor=1' });
});

test('work that fails is an error of its kind, and its message is not in the span', async () => {
  const secret = 'what the model said';
  await expect(tracing.span('chat', 'm', {}, () => Promise.reject(new TypeError(secret)))).rejects.toThrow(secret);
  const span = named('chat m');
  expect(span.status).toEqual({ code: 2 });
  expect(span.attributes['error.type']).toBe('TypeError');
  expect(span.events).toEqual([]);
  expect(JSON.stringify([span.attributes, span.status, span.name])).not.toContain(secret);
});

test('work that fails without throwing is an error of the given kind', async () => {
  await tracing.span('execute_tool', 'box.one', {}, async (span) => span.fail('tool_error'));
  const span = named('execute_tool box.one');
  expect(span.status).toEqual({ code: 2 });
  expect(span.attributes['error.type']).toBe('tool_error');
});

test('entries receive the span, or where it is not sampled the one that the caller names, or none', async () => {
  const told: unknown[] = [];
  const tell = (spans: Spans, headers: object): Promise<void> =>
    spans.inTrace({ ...headers }, () =>
      spans.tracing.span('invoke_agent', 'bot', {}, async (run) => {
        await spans.tracing.span('execute_tool', 'box.one', {}, async ({ trace: ids }) => void told.push(run.trace, ids));
        const call = spans.calls.begin('box.one', { ...headers });
        told.push(call.trace);
        call.end();
      }),
    );
  const caller = { traceId, spanId: 'b7ad6b7169203331' };
  const unsampled = { traceparent: incoming.traceparent.replace(/01$/, '00') };

  await tell(createSpans(provider.getTracer('test')), incoming);
  const [outer, inner, called] = told.splice(0).map((ids) => Object(ids));
  const byName = (name: string): readonly string[] =>
    exporter.getFinishedSpans().flatMap((span) => (span.name === name ? [span.spanContext().spanId] : []));
  expect(byName('invoke_agent bot')).toEqual([outer.spanId]);
  expect(byName('execute_tool box.one')).toEqual([inner.spanId, called.spanId]);
  expect([outer.traceId, inner.traceId, called.traceId]).toEqual([traceId, traceId, traceId]);

  await tell(createSpans(provider.getTracer('test')), unsampled);
  expect(told.splice(0)).toEqual([caller, null, caller]);
  const never = new NodeTracerProvider({ sampler: new AlwaysOffSampler() });
  await tell(createSpans(never.getTracer('test')), {});
  expect(told).toEqual([null, null, null]);
});

test('parallel work has separate headers, and a request without a trace begins one', async () => {
  const told: (string | undefined)[] = [];
  await inTrace({}, () =>
    tracing.span('invoke_agent', 'bot', {}, () =>
      Promise.all(
        ['a', 'b'].map((name) =>
          tracing.span('execute_tool', name, {}, async (span) => {
            await Promise.resolve();
            told.push(span.headers()['traceparent']);
          }),
        ),
      ),
    ),
  );
  const expected = ['a', 'b'].map((name) => named(`execute_tool ${name}`).spanContext());
  expect(told).toEqual(expected.map(({ traceId: of, spanId }) => `00-${of}-${spanId}-01`));
  expect(named('invoke_agent bot').parentSpanContext).toBeUndefined();
});

test('without telemetry work is done, and no header is added', async () => {
  expect(await untraced.span('chat', 'm', {}, async (span) => span.headers())).toEqual({});
  expect(exporter.getFinishedSpans()).toEqual([]);
});
