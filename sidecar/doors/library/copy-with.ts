export type Method = (this: unknown, ...given: readonly unknown[]) => unknown;

/**
 * Returns a copy of the tool with other methods. All other properties are kept, including getters and prototype. Each of
 * these methods is called with the original tool as `this`, because a class may need it.
 */
export function copyWith(tool: object, methods: Readonly<Record<string, Method>>): object {
  const prototype: unknown = Object.getPrototypeOf(tool);
  const copy = Object.create(typeof prototype === 'object' ? prototype : null, {
    ...Object.getOwnPropertyDescriptors(tool),
    ...Object.fromEntries(Object.entries(methods).map(([name, method]) => [name, descriptorOf(method)])),
  }) as object;

  function descriptorOf(method: Method): PropertyDescriptor {
    return {
      value(this: unknown, ...given: readonly unknown[]) {
        return method.apply(this === copy ? tool : this, [...given]);
      },
      enumerable: true,
      configurable: true,
      writable: true,
    };
  }
  return copy;
}
