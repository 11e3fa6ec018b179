let current = 'Parley'
let unread = ''

/** Names the page in the tab, behind how many conversations are unread. */
export function setTitle(title: string): void {
  current = title === 'Parley' ? title : `${title} · Parley`
  show()
}

/** How many conversations are unread, in words; empty for none. */
export function setUnreadInTitle(text: string): void {
  unread = text
  show()
}

function show(): void {
  document.title = unread === '' ? current : `(${unread}) ${current}`
}
