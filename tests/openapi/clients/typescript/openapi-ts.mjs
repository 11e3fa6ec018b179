// Node runs TypeScript whose imports name the file.
export default { input: 'openapi.json', output: { path: 'client', module: { extension: '.ts' } } }
