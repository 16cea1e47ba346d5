/** Whether a dialog is open. Then keys belong to it, and not to the page below. */
export const isDialogOpen = (): boolean => document.querySelector('[role="dialog"]') !== null;
