// Gauges that are read whenever somebody asks.
import { Gauge, type Registry } from 'prom-client';

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
