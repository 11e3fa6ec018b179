import { type ErrorCode, errors, problemType } from '@parley/shared/errors'

/** The page of each error code, by its path, and that of all of them; what problems name as their `type`. */
export function errorPages(): Record<string, string> {
  const codes = Object.keys(errors) as ErrorCode[]
  return {
    '/docs/errors': indexPage(codes),
    ...Object.fromEntries(codes.map((code) => [problemType(code), errorPage(code)])),
  }
}

export const ERROR_PAGE_STYLE = `body { max-width: 42rem; margin: 3rem auto; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif; }
code { font-family: ui-monospace, monospace; }
@media (prefers-color-scheme: dark) { body { background: #111; color: #eee; } a { color: #8ab4f8; } }
`

function errorPage(code: ErrorCode): string {
  const { status, title, help } = errors[code]
  return page(
    code,
    `<p><a href="/docs/errors">All errors</a></p>
<h1>${status} <code>${code}</code></h1>
<p><strong>${html(title)}.</strong></p>
<p>${html(help)}</p>
<p>The response is a problem as RFC 9457 has it; its <code>requestId</code> finds it in the logs.</p>`,
  )
}

function indexPage(codes: ErrorCode[]): string {
  const rows = codes.map((code) => {
    const { status, title } = errors[code]
    return `<li>${status} <a href="${problemType(code)}"><code>${code}</code></a> ${html(title)}</li>`
  })
  return page('Errors', `<h1>Errors</h1>\n<ul>\n${rows.join('\n')}\n</ul>`)
}

function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title} · Parley</title>
<link rel="icon" type="image/png" href="/docs/favicon-32x32.png">
<link rel="stylesheet" href="/docs/errors.css">
</head>
<body>
${content}
</body>
</html>
`
}

/** Text as HTML; what stands between backticks is code. */
function html(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return escaped.replaceAll(/`([^`]+)`/g, '<code>$1</code>')
}
