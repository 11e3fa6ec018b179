// Makes the console's bundle: node gateway/console/build.ts
import { createHash } from 'node:crypto'
import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'esbuild'

const SOURCE = fileURLToPath(new URL('src', import.meta.url))
const PAGE = 'index.html'
const DIST = fileURLToPath(new URL('dist', import.meta.url))

/** The files of a bundle by name. */
type Bundle = ReadonlyMap<string, Uint8Array>

/** Writes the bundle to `gateway/console/dist`, where the gateway serves it from. It takes about 100 ms. */
export async function buildConsole(): Promise<void> {
  const files = await bundleConsole()
  await mkdir(DIST, { recursive: true })
  // The page last, so that what it names is there.
  const names = [...files.keys()].filter((name) => name !== PAGE)
  for (const name of [...names, PAGE]) await writeAtomically(join(DIST, name), files.get(name))
  for (const name of await readdir(DIST))
    if (!files.has(name) && !name.endsWith('.tmp')) await rm(join(DIST, name), { force: true })
}

async function bundleConsole(): Promise<Bundle> {
  const { outputFiles, metafile } = await build({
    entryPoints: [join(SOURCE, 'main.tsx')],
    outdir: DIST,
    bundle: true,
    write: false,
    metafile: true,
    splitting: true,
    entryNames: 'console-[hash]',
    chunkNames: 'console-[hash]',
    format: 'esm',
    platform: 'browser',
    target: ['es2023', 'chrome123', 'firefox128', 'safari17.5'],
    minify: true,
    legalComments: 'none',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'text' },
    plugins: [onlyWhatIsUsed],
  })
  const made = outputFiles.map(({ path, contents }) => [basename(path), contents] as const)
  const outputOf = (source: string) =>
    Object.entries(metafile.outputs).find(
      ([path, { entryPoint }]) => entryPoint?.endsWith(source) && extname(path) === '.js',
    ) ?? (['', { imports: [] }] as const)
  const [script, main] = outputOf('main.tsx')
  const [start, { imports }] = outputOf('start.ts')
  const needed = [...main.imports, ...imports].filter(({ kind }) => kind === 'import-statement')
  const parts = [...new Set([start, ...needed.map(({ path }) => path)].map((path) => basename(path)))]
  const style = made.find(([name]) => extname(name) === '.css')?.[0] ?? ''
  const icon = new TextEncoder().encode(ICON)
  const iconName = hashedName('icon.svg', icon)
  const unread = new TextEncoder().encode(UNREAD_ICON)
  const unreadName = hashedName('icon.svg', unread)
  const page = pageOf({ script: basename(script), parts, style, icon: iconName, unread: unreadName })
  return new Map([...made, [iconName, icon], [unreadName, unread], [PAGE, new TextEncoder().encode(page)]])
}

/** Leaves out modules that the console does not use: the parts of `@parley/shared` it takes have no side effects. */
const onlyWhatIsUsed: Plugin = {
  name: 'only-what-is-used',
  setup({ onResolve }) {
    onResolve({ filter: /^node:/ }, ({ path }) => ({ path, external: true, sideEffects: false }))
  },
}

function hashedName(path: string, contents: Uint8Array): string {
  const extension = extname(path)
  const hash = createHash('sha256').update(contents).digest('hex').slice(0, 10)
  return `console-${hash}${extension}`
}

async function writeAtomically(file: string, content: Uint8Array | undefined): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`
  await writeFile(temporary, content ?? '')
  await rename(temporary, file)
}

/** Nothing in it is inline, so that its policy needs no exception. */
const pageOf = ({
  script,
  parts,
  style,
  icon,
  unread,
}: Record<'script' | 'style' | 'icon' | 'unread', string> & {
  /** Scripts that the page needs at its start, without those of pages that are loaded on demand. */
  parts: readonly string[]
}) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Parley</title>
<link rel="icon" type="image/svg+xml" href="/console/assets/${icon}" data-unread="/console/assets/${unread}">
<link rel="stylesheet" href="/console/assets/${style}">
${parts.map((part) => `<link rel="modulepreload" href="/console/assets/${part}">\n`).join('')}<script type="module" src="/console/assets/${script}"></script>
</head>
<body>
<div id="console">${OPENING}</div>
<noscript>The console needs JavaScript. The API is described at <a href="/docs">/docs</a>.</noscript>
</body>
</html>
`

/** The markup that is shown until the script has loaded its first page: the same as its `Opening`. */
const OPENING = `<main class="lonely"><p class="logo"><svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d="M4 4h16v11h-9l-5 5v-5H4z"/></svg> Parley</p><div class="loading">${'<span class="bone"></span>'.repeat(4)}</div></main>`

const BOX =
  '<rect width="32" height="32" rx="8" fill="#0f766e"/><path d="M9 9h14v10H15l-4 4v-4H9z" fill="#fff"/>'
const iconOf = (drawing: string) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">${drawing}</svg>`
const ICON = iconOf(BOX)
/** While a conversation is unread. */
const UNREAD_ICON = iconOf(
  `${BOX}<circle cx="24" cy="8" r="7" fill="#dc2626" stroke="#fff" stroke-width="2"/>`,
)

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildConsole()
