// Defines metrics whose values are read at each scrape.
import { Counter, Gauge, type Registry } from 'prom-client';

export const gaugesIn =
  (registry: Registry) =>
  (name: string, help: string, read: () => number): Gauge =>
    new Gauge({
      name,
      help,
      registers: [registry],
      collect() {
        this.set(read());
      },
    });

/** Returns a function that defines metrics whose values only increase. */
export const totalsIn =
  (registry: Registry) =>
  (name: string, help: string, read: () => number): Counter =>
    new Counter({
      name,
      help,
      registers: [registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
