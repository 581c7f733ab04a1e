/** `holdfast/ag-ui`: AG-UI's HTTP agent with what Holdfast adds. Needs the package `@ag-ui/client`. */
export { HoldfastAgent } from './holdfast-agent.ts'
