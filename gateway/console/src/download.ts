/** Gives the browser a file to save. */
export function download(name: string, content: string | Blob): void {
  const url = URL.createObjectURL(new Blob([content]))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
