// Lane: rest: it asks promtool
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { catalogue } from '../../src/observability/metrics/catalogue.ts';
import { signalNames } from '../../src/telemetry.ts';
import { noPromtool } from './promtool.ts';

const file = fileURLToPath(new URL('../../src/deploy/prometheus/alerts.yml', import.meta.url));

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}
const { groups } = parse(readFileSync(file, 'utf8')) as { groups: readonly { rules: readonly Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);

/** Series of a minute's samples, in the notation of promtool. */
interface Scene {
  readonly alert: string;
  /** Raises it, and the minute by which it is there. */
  readonly bad: Readonly<Record<string, string>>;
  readonly minute: number;
  /** Is on the right side of the bound for all of an hour. */
  readonly good: Readonly<Record<string, string>>;
  readonly labels: Readonly<Record<string, string>>;
}

const at = 'instance="a",job="weir"';
const here = { instance: 'a', job: 'weir' };
const requests = (status: string) =>
  `weir_http_requests_total{${at},method="POST",route="/v1/messages",status="${status}"}`;
const asked = (status: string) => `weir_upstream_requests_total{${at},model="m",status="${status}"}`;
const bucket = (le: string) => `weir_gateway_overhead_seconds_bucket{${at},le="${le}"}`;
const hours = (n: number) => n * 3600;
const expiry = `weir_certificate_expiry_timestamp_seconds{${at}}`;
const said = (signal: string) => `weir_signals_total{${at},signal="${signal}"}`;

const scenes: readonly Scene[] = [
  { alert: 'WeirDown', bad: { [`up{${at}}`]: '0x60' }, minute: 2, good: { [`up{${at}}`]: '1x60' }, labels: here },
  {
    alert: 'WeirNotReady',
    bad: { [`weir_check_ok{${at},check="eventstore"}`]: '1 0x60' },
    minute: 3,
    good: { [`weir_check_ok{${at},check="eventstore"}`]: '1x60' },
    labels: { ...here, check: 'eventstore' },
  },
  {
    alert: 'WeirRestarts',
    bad: { [`process_start_time_seconds{${at}}`]: '10 10 70 70 130 130 190x55' },
    minute: 7,
    good: { [`process_start_time_seconds{${at}}`]: '10 10 70 70 130x56' },
    labels: here,
  },
  {
    alert: 'WeirAnswersWithErrors',
    bad: { [requests('200')]: '0+94x60', [requests('503')]: '0+6x60' },
    minute: 7,
    good: { [requests('200')]: '0+95x60', [requests('503')]: '0+5x60' },
    labels: { instance: 'a' },
  },
  {
    alert: 'WeirUpstreamFails',
    bad: { [asked('200')]: '0+79x60', [asked('502')]: '0+21x60' },
    minute: 7,
    good: { [asked('200')]: '0+80x60', [asked('502')]: '0+20x60' },
    labels: { instance: 'a', model: 'm' },
  },
  {
    alert: 'WeirUpstreamLeftOut',
    bad: { [`weir_upstream_breaker_open{${at},model="m",upstream="u"}`]: '1x60' },
    minute: 11,
    good: { [`weir_upstream_breaker_open{${at},model="m",upstream="u"}`]: '1x9 0x50' },
    labels: { ...here, model: 'm', upstream: 'u' },
  },
  {
    alert: 'WeirIsSlow',
    bad: { [bucket('0.05')]: '0+98x60', [bucket('0.1')]: '0+100x60', [bucket('+Inf')]: '0+100x60' },
    minute: 12,
    good: { [bucket('0.05')]: '0+99x60', [bucket('0.1')]: '0+100x60', [bucket('+Inf')]: '0+100x60' },
    labels: { instance: 'a' },
  },
  {
    alert: 'WeirKnowsTooLittle',
    bad: { [`weir_projection_lag_seconds{${at}}`]: '11x60' },
    minute: 2,
    good: { [`weir_projection_lag_seconds{${at}}`]: '10x60' },
    labels: here,
  },
  {
    alert: 'WeirAccountsWait',
    bad: { [`weir_usage_journal_lag_seconds{${at}}`]: '61x60' },
    minute: 6,
    good: { [`weir_usage_journal_lag_seconds{${at}}`]: '60x60' },
    labels: here,
  },
  {
    alert: 'WeirAccountsFull',
    bad: { [`weir_usage_journal_full{${at}}`]: '1x60' },
    minute: 1,
    good: { [`weir_usage_journal_full{${at}}`]: '0x60' },
    labels: here,
  },
  {
    alert: 'WeirCertificateExpires',
    bad: { [expiry]: `${hours(14 * 24)}x90` },
    minute: 62,
    good: { [expiry]: `${hours(14 * 24 + 3)}x90` },
    labels: here,
  },
  {
    alert: 'WeirCertificateIsAboutToExpire',
    bad: { [expiry]: `${hours(24)}x60` },
    minute: 1,
    good: { [expiry]: `${hours(26)}x60` },
    labels: here,
  },
  {
    alert: 'WeirAuditLogIsUnsigned',
    bad: { [`weir_audit_log_signed{${at}}`]: '0x60' },
    minute: 2,
    good: { [`weir_audit_log_signed{${at}}`]: '1x60' },
    labels: here,
  },
  {
    alert: 'WeirAuditLogHasForeignKeys',
    bad: { [`weir_audit_keys_passed_over{${at}}`]: '1x60' },
    minute: 1,
    good: { [`weir_audit_keys_passed_over{${at}}`]: '0x60' },
    labels: here,
  },
  {
    alert: 'WeirHasSaid',
    bad: { [said('follower.stopped')]: '0 0 1x58' },
    minute: 3,
    good: { [said('follower.stopped')]: '1x60', [said('command.recorded')]: '0+9x60' },
    labels: { ...here, signal: 'follower.stopped' },
  },
  {
    alert: 'WeirLogIsLost',
    bad: { [`weir_log_lines_dropped_total{${at}}`]: '0 0 7x58' },
    minute: 3,
    good: { [`weir_log_lines_dropped_total{${at}}`]: '7x60' },
    labels: here,
  },
];

describe('the alerts', () => {
  const dir = mkdtempSync(join(tmpdir(), 'weir-alerts-'));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));

  test('speak of metrics and signals that there are, and each says what it is about', () => {
    for (const { alert, expr, labels, annotations } of rules) {
      const named = [...expr.matchAll(/\b(weir_\w+?)(?:_bucket)?(?=[{\s[)])/g)].map(([, name]) => name!);
      expect([alert, named.filter((name) => !(name in catalogue))]).toEqual([alert, []]);
      const signals = /signal=~"([^"]*)"/.exec(expr)?.[1]?.split('|') ?? [];
      expect([alert, signals.filter((name) => !(signalNames as readonly string[]).includes(name))]).toEqual([
        alert,
        [],
      ]);
      expect([alert, ['critical', 'warning'].includes(labels.severity)]).toEqual([alert, true]);
      expect([alert, annotations.summary]).toEqual([alert, expect.stringMatching(/\$labels\.\w+ \}\}.*\.$/)]);
    }
    expect(rules.map(({ alert }) => alert)).toEqual(scenes.map(({ alert }) => alert));
  });

  test.skipIf(noPromtool !== undefined).each(scenes)(
    `$alert is raised where it should be and nowhere else${noPromtool === undefined ? '' : ` (${noPromtool})`}`,
    ({ alert, bad, minute, good, labels }) => {
      const { severity } = rules.find((rule) => rule.alert === alert)!.labels;
      const series = (all: Readonly<Record<string, string>>) =>
        Object.entries(all).map(([name, values]) => ({ series: name, values }));
      const fired = (expected: readonly object[], time: string) => ({
        eval_time: time,
        alertname: alert,
        exp_alerts: expected,
      });
      // Nothing of the words, which are for people: promtool compares them all, so they are put away.
      const bare = join(dir, `${alert}.rules.yml`);
      const silent = rules.map(({ annotations: _, ...rule }) => rule);
      writeFileSync(bare, JSON.stringify({ groups: [{ name: 'weir', rules: silent }] }));
      const told = [{ exp_labels: { ...labels, severity }, exp_annotations: {} }];
      const tests = [
        { interval: '1m', input_series: series(bad), alert_rule_test: [fired(told, `${minute}m`)] },
        { interval: '1m', input_series: series(good), alert_rule_test: [fired([], '11m'), fired([], '55m')] },
      ];
      const script = join(dir, `${alert}.test.yml`);
      writeFileSync(script, JSON.stringify({ rule_files: [bare], evaluation_interval: '1m', tests }));
      const { status, stdout, stderr } = spawnSync('promtool', ['test', 'rules', script], { encoding: 'utf8' });
      expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining('SUCCESS')]);
    },
  );

  test.skipIf(noPromtool !== undefined)(
    `are rules that promtool reads, words included${noPromtool === undefined ? '' : ` (${noPromtool})`}`,
    () => {
      const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', file], { encoding: 'utf8' });
      expect([status, `${stdout}${stderr}`]).toEqual([0, expect.stringContaining(`${rules.length} rules found`)]);
    },
  );
});
