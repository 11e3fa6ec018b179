/** Gives the browser a file to save. */
export function download(name: string, content: string | Blob): void {
  const url = URL.createObjectURL(new Blob([content]))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}

type Cell = string | number | undefined

/** Rows as CSV, each cell in quotes; a text that a spreadsheet would take for a formula begins with an apostrophe. */
export const csvOf = (rows: readonly (readonly Cell[])[]): string =>
  rows.map((row) => row.map(csvCell).join(',')).join('\r\n')

function csvCell(value: Cell): string {
  const text = String(value ?? '')
  const isFormula = typeof value === 'string' && /^\s*[=+\-@]/.test(text)
  return `"${(isFormula ? `'${text}` : text).replaceAll('"', '""')}"`
}
