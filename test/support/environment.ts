// What a program that a test starts finds in its environment: all that the test's own process has, but for our variables, which
// are the test's to set.
export const environment = (own: Readonly<Record<string, string>>): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('TOLLGATE_'))),
  ...own,
});
