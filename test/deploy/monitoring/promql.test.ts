// The search for wrong names in expressions finds them.
import { expect, test } from 'vitest';
import { mergeExported, problemsOf, readExported } from './promql.ts';

const exported = mergeExported(
  readExported(`# HELP decisions_total Decisions
# TYPE decisions_total counter
decisions_total{decision="allow",code="a \\"quoted\\", code"} 3
# HELP seconds Time
# TYPE seconds histogram
seconds_bucket{le="0.1"} 1
seconds_bucket{le="+Inf"} 1
seconds_sum 0.05
seconds_count 1
# HELP refused_total Refused
# TYPE refused_total counter
`),
  readExported(`# TYPE decisions_total counter
decisions_total{layer="user"} 1
# TYPE age_seconds gauge
age_seconds Nan
`),
);

test('exported names pass', () => {
  for (const expr of [
    'sum by (decision, layer) (rate(decisions_total{job="x",code=~"a, b"}[5m])) > 0.5',
    'histogram_quantile(0.99, sum by (job, le) (rate(seconds_bucket[10m])))',
    'up{job="x"} == 0 or absent(up{job="x"})',
    'age_seconds > 0.5 * (age_seconds offset 15m > 0) and on () seconds_count > 1000',
  ])
    expect({ expr, problems: problemsOf(expr, exported) }).toEqual({ expr, problems: [] });
});

test('an unknown metric, label and word are reported', () => {
  expect(problemsOf('rate(decision_total[5m])', exported)).toEqual(['no program exports decision_total']);
  expect(problemsOf('decisions_total{outcome="allow"}', exported)).toEqual(['decisions_total has no label outcome']);
  expect(problemsOf('sum by (tool) (decisions_total)', exported)).toEqual(['nothing here has the label tool']);
  expect(problemsOf('summe(age_seconds)', exported)).toEqual(['no program exports summe']);
  expect(problemsOf('seconds{le="1"}', exported)).toEqual(['no program exports seconds', 'seconds has no label le']);
});

test('for a metric without series yet, exactly the given labels are accepted', () => {
  expect(problemsOf('refused_total{code="x"}', exported)).toEqual(['refused_total has no label code']);
  expect(problemsOf('refused_total{code="x"}', exported, { refused_total: ['code'] })).toEqual([]);
});
