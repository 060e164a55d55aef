// Draws the charts of a report. It runs in the reader's browser, after uPlot and the data, without any network.
/* global uPlot */
(() => {
  const data = JSON.parse(document.getElementById('result').textContent);
  /** What is not a 200 has colours that no contender has. */
  const statusColours = { 429: '--wait', 0: '--bad' };
  const height = 260;
  const style = () => getComputedStyle(document.documentElement);
  const colour = (name) => (name.startsWith('--') ? style().getPropertyValue(name).trim() : name);
  /** Of the scenario's contenders; the page has chosen one for each name. */
  const coloursAt = (place) => JSON.parse(place.dataset.colours);
  const short = (value) =>
    value >= 1e6 ? `${value / 1e6}M` : value >= 1000 ? `${value / 1000}k` : String(Number(value.toPrecision(3)));
  const millis = (value) => (value == null ? '–' : `${Number(value.toPrecision(3))} ms`);

  const axis = (label, more) => ({
    stroke: colour('--soft'),
    grid: { stroke: colour('--line'), width: 1 },
    ticks: { stroke: colour('--line') },
    label,
    labelSize: 18,
    size: 54,
    font: '12px system-ui, sans-serif',
    labelFont: '12px system-ui, sans-serif',
    ...more,
  });
  const seconds = () => axis('second', { incrs: [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200] });
  const widthOf = (place) => Math.max(280, place.clientWidth);
  const charts = new Map();
  const draw = (place, options, columns) => {
    charts.get(place)?.destroy();
    // Half of the last label stands beyond the end of the axis, unless there is another axis on that side.
    const padding = [null, options.axes.some(({ side }) => side === 1) ? null : 48, null, null];
    charts.set(place, new uPlot({ width: widthOf(place), height, padding, ...options }, columns, place));
  };
  const logValues = (_, splits) => splits.map((value) => (value == null ? '' : short(value)));

  /** Several lines with their own x values, as one table with the gaps filled by null. */
  const joined = (lines) =>
    uPlot.join(
      lines.map(([x, y]) => [x, y]),
      lines.map(() => [2]),
    );

  const whole = (contender) => (contender.latency.intended ? 'intended' : 'service');

  const spectrum = (place, contenders) => {
    const lines = [];
    const colours = coloursAt(place);
    const seen = new Map();
    for (const [i, contender] of contenders.entries()) {
      // Several works of one contender keep its colour, each paler than the one before.
      const stroke = colours[i];
      const alpha = Math.max(0.25, 1 - 0.15 * (seen.get(stroke) ?? 0));
      if (contender.latency[whole(contender)]) seen.set(stroke, (seen.get(stroke) ?? 0) + 1);
      for (const phase of contender.latency.intended ? ['intended', 'service'] : ['service']) {
        const points = (contender.spectrum[phase] ?? []).filter(([, ms]) => ms > 0);
        if (points.length > 1) lines.push({ contender, phase, points, stroke, alpha });
      }
    }
    if (lines.length === 0) return place.closest('section')?.remove();
    const columns = joined(
      lines.map(({ points }) => [points.map(([p]) => 1 / (1 - p / 100)), points.map(([, ms]) => ms)]),
    );
    const nines = (_, splits) =>
      splits.map((x) => (Math.log10(x) % 1 === 0 ? `${Number((100 * (1 - 1 / x)).toFixed(4))} %` : ''));
    draw(
      place,
      {
        scales: { x: { time: false, distr: 3 }, y: { distr: 3 } },
        axes: [axis('percentile', { values: nines }), axis('milliseconds', { values: logValues })],
        series: [
          { label: 'percentile', value: (_, x) => (x == null ? '–' : `${Number((100 * (1 - 1 / x)).toFixed(4))} %`) },
          ...lines.map(({ contender, phase, stroke, alpha }) => ({
            label:
              phase === 'service' && contender.latency.intended
                ? `${contender.label}, from the actual send`
                : contender.label,
            stroke: colour(stroke),
            alpha,
            width: 2,
            dash: phase === 'service' && contender.latency.intended ? [6, 5] : undefined,
            spanGaps: true,
            points: { show: false },
            value: (_, ms) => millis(ms),
          })),
        ],
      },
      columns,
    );
  };

  const timeline = (place, contender, own) => {
    const all = contender.timeline;
    const isOpen = contender.latency.intended !== undefined;
    const x = all.map((_, i) => i + 1);
    const count = (name, key, stroke, dash) => ({ name, values: all.map((second) => second[key]), stroke, dash });
    const rates = [
      ...(isOpen ? [count('planned', 'planned', '--soft', [4, 4])] : []),
      count('answered', 'done', own),
      count('in flight', 'inFlight', '--soft', [1, 3]),
    ];
    draw(
      place,
      {
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, most * 1.08 || 1] }, ms: { distr: 3 } },
        axes: [
          axis('second'),
          axis('per second', { values: logValues }),
          axis('p99, ms', { scale: 'ms', side: 1, grid: { show: false }, values: logValues }),
        ],
        series: [
          { label: 'second' },
          ...rates.map(({ name, stroke, dash }) => ({
            label: name,
            stroke: colour(stroke),
            width: 2,
            dash,
            points: { show: false },
          })),
          {
            label: 'p99',
            scale: 'ms',
            stroke: colour('--ink'),
            width: 1.5,
            points: { show: false },
            value: (_, ms) => millis(ms),
          },
        ],
      },
      [x, ...rates.map(({ values }) => values), all.map(({ p99 }) => (p99 > 0 ? p99 : null))],
    );
  };

  const stack = (place, contender, own) => {
    const all = contender.timeline;
    const statuses = [...new Set(all.flatMap((second) => Object.keys(second.statuses)))].sort((a, b) =>
      a === '200' ? -1 : b === '200' ? 1 : a - b,
    );
    const below = all.map(() => 0);
    const sums = statuses.map((status) => all.map((second, i) => (below[i] += second.statuses[status] ?? 0)));
    const named = (status) => (status === '0' ? 'broken or timed out' : status);
    const paint = (status) => colour(status === '200' ? own : (statusColours[status] ?? '--soft'));
    // The highest sum first: each that follows covers the lower part of it.
    const order = statuses.map((_, i) => statuses.length - 1 - i);
    draw(
      place,
      {
        height: 170,
        scales: { x: { time: false }, y: { range: (_, __, most) => [0, most * 1.05 || 1] } },
        axes: [seconds(), axis('answers', { values: logValues })],
        series: [
          { label: 'second' },
          ...order.map((i) => ({
            label: named(statuses[i]),
            stroke: paint(statuses[i]),
            fill: paint(statuses[i]),
            points: { show: false },
            value: (_, __, ___, at) => (at == null ? '–' : String(all[at]?.statuses[statuses[i]] ?? 0)),
          })),
        ],
      },
      [all.map((_, i) => i + 1), ...order.map((i) => sums[i])],
    );
  };

  const curve = (place, { points, knee }) => {
    const mark = (u) => {
      if (knee == null) return;
      const x = u.valToPos(knee, 'x', true);
      const { ctx, bbox } = u;
      ctx.save();
      ctx.strokeStyle = colour('--ink');
      ctx.setLineDash([6, 5]);
      ctx.lineWidth = 2;
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      ctx.fillStyle = colour('--ink');
      ctx.font = `${13 * devicePixelRatio}px system-ui, sans-serif`;
      ctx.textAlign = 'right';
      ctx.fillText(
        `knee: ${Math.round(knee).toLocaleString('en')}/s`,
        x - 6 * devicePixelRatio,
        bbox.top + 16 * devicePixelRatio,
      );
      ctx.restore();
    };
    const [stroke] = coloursAt(place);
    const line = (label, key, width, dash) => ({ label, key, width, dash });
    const lines = [
      line('p50 (dotted)', 'p50', 1.5, [2, 3]),
      line('p99 (thick)', 'p99', 3),
      line('p99.9 (thin)', 'p999', 1),
      line('p99 from the actual send (dashed)', 'serviceP99', 1.5, [6, 5]),
    ];
    draw(
      place,
      {
        height: 320,
        scales: { x: { time: false }, y: { distr: 3 } },
        axes: [axis('requests per second', { values: logValues }), axis('milliseconds', { values: logValues })],
        series: [
          { label: 'rate' },
          ...lines.map(({ label, width, dash }) => ({
            label,
            stroke: colour(stroke),
            width,
            dash,
            points: { show: true, size: 6 },
            value: (_, ms) => millis(ms),
          })),
        ],
        hooks: { draw: [mark] },
      },
      [
        points.map(({ rate }) => rate),
        ...lines.map(({ key }) => points.map((point) => (point[key] > 0 ? point[key] : null))),
      ],
    );
  };

  const drawAll = () => {
    for (const place of document.querySelectorAll('[data-chart]')) {
      const { chart, scenario, index } = place.dataset;
      const found = data.scenarios[Number(scenario)];
      const chosen = document.querySelector(`select[data-scenario="${scenario}"]`);
      const at = Number(chosen?.value ?? 0);
      const contender = found.contenders[at];
      const own = coloursAt(place)[at];
      if (chart === 'spectrum') spectrum(place, found.contenders);
      else if (chart === 'curve') curve(place, found.curves[Number(index)]);
      else if (chart === 'timeline') timeline(place, contender, own);
      else stack(place, contender, own);
    }
  };
  drawAll();
  for (const chosen of document.querySelectorAll('select')) chosen.addEventListener('change', drawAll);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);
  addEventListener('resize', () => {
    for (const [place, chart] of charts) chart.setSize({ width: widthOf(place), height: chart.height });
  });

  document.getElementById('download').addEventListener('click', () => {
    const link = document.createElement('a');
    link.href = URL.createObjectURL(new Blob([JSON.stringify(data, null, 1)], { type: 'application/json' }));
    link.download = 'result.json';
    link.click();
  });
})();
