import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'

interface Series {
  name: string
  /** A custom property of the style sheet. */
  color: string
  values: number[]
}

const HEIGHT = 220

/** Counts over time, a line for each series. `times` are in seconds since 1970. */
export function Chart({ label, times, series }: { label: string; times: number[]; series: Series[] }) {
  const element = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const box = element.current
    if (box === null) return
    let plot = draw(box, times, series)
    const again = () => {
      plot.destroy()
      plot = draw(box, times, series)
    }
    const sizes = new ResizeObserver(() => plot.setSize({ width: box.clientWidth, height: HEIGHT }))
    sizes.observe(box)
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    scheme.addEventListener('change', again)
    const theme = new MutationObserver(again)
    theme.observe(document.documentElement, { attributeFilter: ['data-theme'] })
    return () => {
      sizes.disconnect()
      theme.disconnect()
      scheme.removeEventListener('change', again)
      plot.destroy()
    }
  }, [times, series])
  return (
    <figure class="chart">
      <div ref={element} role="img" aria-label={`${label}: ${summaryOf(series)}`} />
      <figcaption>
        {series.map(({ name, color }) => (
          <span key={name} class={`key ${color}`}>
            {name}
          </span>
        ))}
      </figcaption>
    </figure>
  )
}

const CLOCK = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const DAY = new Intl.DateTimeFormat(undefined, { day: 'numeric', month: 'short' })

/** The clock, or the day at its beginning, in the viewer's zone. */
function timeOf(seconds: number): string {
  const at = new Date(seconds * 1_000)
  return (at.getHours() + at.getMinutes() === 0 ? DAY : CLOCK).format(at)
}

const summaryOf = (series: Series[]): string =>
  series.map(({ name, values }) => `${name} ${values.reduce((sum, each) => sum + each, 0)}`).join(', ')

function draw(box: HTMLElement, times: number[], series: Series[]): uPlot {
  const style = getComputedStyle(box)
  const color = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: color('ink-quiet'),
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
  }
  return new uPlot(
    {
      width: box.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: { y: false, points: { show: false } },
      scales: {
        y: { range: (_plot, _min, max) => [0, Math.max(4, max * 1.1)] },
      },
      axes: [
        { ...axis, grid: { show: false }, font: '12px system-ui', values: (_plot, at) => at.map(timeOf) },
        { ...axis, font: '12px system-ui', size: 44 },
      ],
      series: [
        {},
        ...series.map((one) => ({
          label: one.name,
          stroke: color(one.color),
          width: 2,
          points: { show: false },
        })),
      ],
    },
    [times, ...series.map(({ values }) => values)],
    box,
  )
}
